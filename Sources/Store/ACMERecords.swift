/// The stored ACME state, encrypted, so that the database cannot read it.
package struct ACMERecord: Sendable, Equatable {
    /// Starts at 1 and increases by 1 with each change.
    package let version: Int64
    package let sealed: [UInt8]

    package init(version: Int64, sealed: [UInt8]) {
        self.version = version
        self.sealed = sealed
    }
}

/// The identity of a version. The number alone is not unique: a standby that lacks the newest versions when it takes
/// over assigns their numbers again.
package struct ACMEVersion: Sendable, Equatable {
    package let number: Int64
    /// SHA-256 of the sealed state.
    package let digest: [UInt8]

    package init(number: Int64, digest: [UInt8]) {
        self.number = number
        self.digest = digest
    }
}

/// The ACME account and certificates that several gateways share, and the lease that allows one of them to order.
package protocol ACMERecords: Sendable {
    /// Returns the stored state; nil if there is none, or if it is the known version.
    func state(otherThan known: ACMEVersion?) async throws -> ACMERecord?

    /// Replaces a version atomically.
    ///
    /// - Parameter known: the version before; nil for the first one.
    /// - Returns: false, with nothing changed, if another version is stored.
    func replace(_ known: ACMEVersion?, with record: ACMERecord) async throws -> Bool

    /// Takes or renews the lease, by the database's clock.
    ///
    /// - Returns: whether `holder` now has the lease.
    func lease(to holder: String, seconds: Int64) async throws -> Bool

    func endLease(of holder: String) async throws
}
