/// The stored keys of one purpose, encrypted, so that the database cannot read them.
package struct KeyRingRecord: Sendable, Equatable {
    /// Starts at 1 and increases by 1 with each change.
    package let version: Int64
    package let sealed: [UInt8]

    package init(version: Int64, sealed: [UInt8]) {
        self.version = version
        self.sealed = sealed
    }
}

/// The key rings that several gateways share. Only the newest version of each is stored, since older ones would retain
/// removed keys.
package protocol KeyRingRecords: Sendable {
    /// Returns nil if there is no key ring.
    func keyRing(_ purpose: KeyPurpose) async throws -> KeyRingRecord?

    /// Replaces the preceding version atomically.
    ///
    /// - Returns: `false`, with nothing changed, if the preceding version is not the stored one because another writer
    ///   was faster. Of several writers of a version, one gets `true`.
    func replace(with record: KeyRingRecord, for purpose: KeyPurpose) async throws -> Bool
}
