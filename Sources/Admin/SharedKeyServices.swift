package import Accounts
package import Keys

/// The services that follow keys which several gateways share, besides those that sign.
package struct SharedKeyServices: Sendable {
    /// Nil where nothing is sealed with keys of the gateways' own.
    package let sealing: SealingKeyService?
    package let audit: AuditKeyService?

    package init(sealing: SealingKeyService? = nil, audit: AuditKeyService? = nil) {
        self.sealing = sealing
        self.audit = audit
    }

    /// - Throws: what stands against it; what was in use stays so.
    package func follow() async throws {
        try await sealing?.follow()
        try await audit?.follow()
    }

    var services: [any BackgroundService] {
        let all: [(any BackgroundService)?] = [sealing, audit]
        return all.compactMap { $0 }
    }
}
