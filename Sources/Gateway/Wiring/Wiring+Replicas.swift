internal import FoundationEssentials
internal import Keys
internal import Settings
internal import Store

extension Wiring {
    /// The rules for a revocation list that can no longer be read; nil if the state is not shared.
    static func staleness(_ settings: GatewaySettings) -> RevocationStaleness? {
        settings.state?.postgres.staleRevocations.staleness
    }

    /// The time in seconds for which a gateway serves with a revocation list that it can no longer read. If that is
    /// unlimited, the other gateways wait for it as long as they remember a lost gateway.
    static func patience(_ settings: GatewaySettings) -> Int64 {
        guard let staleness = staleness(settings) else { return 0 }
        return staleness.closes ? staleness.after : max(staleness.after, ReplicaTimes.lostMemory)
    }
}

/// The name of the machine or the container.
enum HostName {
    static var current: String { ProcessInfo.processInfo.hostName }
}

extension StaleRevocationSettings {
    fileprivate var staleness: RevocationStaleness {
        RevocationStaleness(after: after.components.seconds, closes: then == .closed)
    }
}
