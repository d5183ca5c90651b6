/// The keys of one purpose as a database has them: sealed, so that it can only keep them.
package struct KeyRingRecord: Sendable, Equatable {
    /// 1 for the first, and one more with each change.
    package let version: Int64
    package let sealed: [UInt8]

    package init(version: Int64, sealed: [UInt8]) {
        self.version = version
        self.sealed = sealed
    }
}

/// The key rings that several gateways share: the newest version of each, since older ones would keep removed keys.
package protocol KeyRingRecords: Sendable {
    /// Nil when none has been made.
    func keyRing(_ purpose: KeyPurpose) async throws -> KeyRingRecord?

    /// Puts a version in the place of the one before, in one step.
    ///
    /// - Returns: `false`, with nothing changed, where the one before is not there: another writer was faster. Of
    ///   several writers of a version one gets `true`.
    func replace(with record: KeyRingRecord, for purpose: KeyPurpose) async throws -> Bool
}
