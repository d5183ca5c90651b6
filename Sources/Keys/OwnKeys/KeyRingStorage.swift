package import Store

/// Where the keys of one purpose are: a file of one gateway, or a database that several gateways share.
package protocol KeyRingStorage: Sendable {
    var purpose: KeyPurpose { get }
    /// The name by which operators know the place, such as a path.
    var place: String { get }
    /// Whether other gateways may change the keys too.
    var isShared: Bool { get }

    /// The ring; nil when none has been made.
    ///
    /// - Throws: rather than pass over keys that cannot be used.
    func read() async throws -> KeyRing?

    /// Changes what is there, or makes what is not. No other writer's change is lost.
    ///
    /// - Parameter change: gets what ``read()`` returns and leaves a ring; one that is as it was is not written. It runs
    ///   again where another writer was faster.
    /// - Returns: the ring that is stored now.
    func update(_ change: @Sendable (inout KeyRing?) throws -> Void) async throws -> KeyRing

    /// Seals what is stored with the first of the keys that seal it, where another one has.
    ///
    /// - Returns: whether there was anything to do.
    func reseal() async throws -> Bool
}

extension KeyRingStorage {
    /// The ring, made now if there is none. Of several who make it at once one does, and all get its ring.
    package func readOrMake(now: Int64) async throws -> KeyRing {
        if let ring = try await read() { return ring }
        return try await update { ring in
            if ring == nil { ring = KeyRing(first: try NewKey.make(for: purpose), now: now) }
        }
    }
}
