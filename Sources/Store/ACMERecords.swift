/// The state of ACME as a database has it: sealed, so that it can only keep it.
package struct ACMERecord: Sendable, Equatable {
    /// 1 for the first, and one more with each change.
    package let version: Int64
    package let sealed: [UInt8]

    package init(version: Int64, sealed: [UInt8]) {
        self.version = version
        self.sealed = sealed
    }
}

/// The account and the certificates of ACME that several gateways share, and the right to order some.
package protocol ACMERecords: Sendable {
    /// Nil when nothing was stored.
    ///
    /// - Parameter version: the version that is known; nil is returned as well where it is the newest.
    func state(otherThan version: Int64) async throws -> ACMERecord?

    /// Puts a version in the place of the one before, in one step.
    ///
    /// - Returns: `false`, with nothing changed, where the one before is not there: another writer was faster.
    func replace(with record: ACMERecord) async throws -> Bool

    /// Takes or renews the lease, by the database's clock.
    ///
    /// - Returns: whether the holder has it.
    func lease(to holder: String, seconds: Int64) async throws -> Bool

    func endLease(of holder: String) async throws
}
