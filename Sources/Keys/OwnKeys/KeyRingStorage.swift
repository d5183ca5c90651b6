package import Store

/// The storage of the keys of one purpose: a file of one gateway, or a database that several gateways share.
package protocol KeyRingStorage: Sendable {
    var purpose: KeyPurpose { get }
    /// The name of the storage for operators, such as a path.
    var place: String { get }
    /// Whether other gateways may change the keys too.
    var isShared: Bool { get }

    /// The ring; nil if none has been created.
    ///
    /// - Throws: rather than ignore keys that cannot be used.
    func read() async throws -> KeyRing?

    /// Changes the stored ring or creates it. No other writer's change is lost.
    ///
    /// - Parameter change: receives the result of ``read()`` and leaves a ring, which is written only if it differs. It
    ///   runs again if another writer was faster.
    /// - Returns: the ring that is stored now.
    func update(_ change: @Sendable (inout KeyRing?) throws -> Void) async throws -> KeyRing

    /// Seals the stored keys with the first sealing key, if another one sealed them.
    ///
    /// - Returns: whether anything was sealed.
    func reseal() async throws -> Bool
}

extension KeyRingStorage {
    /// The ring, created now if there is none. Of several concurrent callers one creates it, and all get its ring.
    package func readOrMake(now: Int64) async throws -> KeyRing {
        if let ring = try await read() { return ring }
        return try await update { ring in
            if ring == nil { ring = KeyRing(first: try NewKey.make(for: purpose), now: now) }
        }
    }
}
