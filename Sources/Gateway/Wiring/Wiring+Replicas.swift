internal import FoundationEssentials
internal import Keys
internal import Settings

extension Wiring {
    /// How long tokens are verified by a list of revocations that cannot be read any more; nil where no other gateway
    /// shares it.
    static func staleness(_ settings: GatewaySettings) -> RevocationStaleness? {
        settings.state?.postgres.staleRevocations.staleness
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
