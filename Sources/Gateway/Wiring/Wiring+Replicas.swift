internal import FoundationEssentials
internal import Keys
internal import Settings
internal import Store

extension Wiring {
    /// How long tokens are verified by a list of revocations that cannot be read any more; nil where no other gateway
    /// shares it.
    static func staleness(_ settings: GatewaySettings) -> RevocationStaleness? {
        settings.state?.postgres.staleRevocations.staleness
    }

    /// For how many seconds a gateway serves by a list of revocations that it cannot read any more. One that serves on
    /// without an end is waited for as long as it is remembered.
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
