package import Accounts
package import Keys

/// The services that follow keys shared by several gateways, except signing keys.
package struct SharedKeyServices: Sendable {
    /// Nil if nothing is sealed with the gateways' own keys.
    package let sealing: SealingKeyService?
    package let audit: AuditKeyService?

    package init(sealing: SealingKeyService? = nil, audit: AuditKeyService? = nil) {
        self.sealing = sealing
        self.audit = audit
    }

    /// Reads the keys again.
    ///
    /// - Throws: the error of the reading. The previous keys then stay in use.
    package func follow() async throws {
        try await sealing?.follow()
        try await audit?.follow()
    }

    var services: [any BackgroundService] {
        let all: [(any BackgroundService)?] = [sealing, audit]
        return all.compactMap { $0 }
    }
}
