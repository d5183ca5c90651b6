internal import Locking
internal import Store

/// The storage of the ACME state: a file or a database. Several gateways may share either.
package protocol ACMEStorage: Sendable {
    /// Whether other gateways may be reading and changing it too.
    var isShared: Bool { get }

    /// Returns the state; an empty one if nothing is stored.
    ///
    /// - Throws: if the stored state is unreadable. It never returns an empty state instead.
    func read() async throws -> ACMEState

    /// Changes the state atomically. No other writer's change is lost.
    ///
    /// - Parameter change: called again if another writer has changed the state meanwhile.
    /// - Returns: the stored state after the change.
    func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState

    /// Encrypts the stored state with the first sealing key if an older key encrypted it.
    func reseal() async throws

    /// Acquires or renews the lease for ordering certificates, which one gateway holds at a time.
    ///
    /// - Parameter holder: this gateway's random identifier.
    /// - Returns: false if another gateway holds the lease.
    func lease(to holder: String, seconds: Int64) async throws -> Bool

    func endLease(of holder: String) async throws
}

/// The state in the state directory: `acme.json`, readable only by its owner, like the key files.
package final class ACMEStateFile: ACMEStorage {
    /// The locks by which gateways on one state directory detect each other. They are released when the process ends.
    private struct Locks {
        /// The shared lock held by all of these gateways; nil if not held.
        var presence: FileLock?
        /// The exclusive lock of the gateway that orders; nil if not held.
        var turn: FileLock?
    }

    private let file: OwnerOnlyFile
    private let locks = Locked(Locks())

    package init(stateDirectory: String) {
        file = OwnerOnlyFile(
            path: "\(stateDirectory)/\(StateDirectory.acmeFileName)", maximumBytes: ACMEState.longest)
    }

    // MARK: The state

    package func read() async throws -> ACMEState {
        // Taken before reading: a gateway that orders stores a challenge before it checks for other gateways. A failure
        // to take the lock does not prevent reading.
        try? join()
        return try readNow()
    }

    private func readNow() throws -> ACMEState {
        guard let bytes = try file.read() else { return ACMEState() }
        do {
            return try ACMEState(decoding: bytes)
        } catch {
            throw KeyFileError(
                file.path, "is damaged; put back a copy, or take it away to have certificates obtained anew")
        }
    }

    package func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState {
        try updateNow(change)
    }

    private func updateNow(_ change: (inout ACMEState) -> Void) throws -> ACMEState {
        try file.locked {
            let before = try readNow()
            var state = before
            change(&state)
            if state != before { try file.write(state.encoded()) }
            return state
        }
    }

    /// Does nothing: a file is not sealed.
    package func reseal() async throws {}

    // MARK: Other gateways

    private func join() throws {
        try locks.withLock { locks in
            guard locks.presence == nil else { return }
            let lock = try FileLock(file.path + ".gateways")
            if try lock.take(.shared) { locks.presence = lock }
        }
    }

    /// False if no other process holds the presence lock. Only the gateway that orders asks.
    package var isShared: Bool {
        locks.withLock { locks in
            guard let presence = locks.presence else { return true }
            let isAlone = (try? presence.take(.alone)) ?? false
            _ = try? presence.take(.shared)
            return !isAlone
        }
    }

    /// Takes the lock for ordering. It is released when the process ends, so that a killed gateway's successor need not
    /// wait. The state is then rewritten as a test: a certificate that cannot be stored is lost, and directories limit
    /// certificates for a name.
    package func lease(to holder: String, seconds: Int64) async throws -> Bool {
        guard try takeTurn() else { return false }
        do {
            try writeAgain()
        } catch {
            endTurn()
            throw error
        }
        return true
    }

    private func takeTurn() throws -> Bool {
        try locks.withLock { locks in
            if locks.turn != nil { return true }
            let lock = try FileLock(file.path + ".orders")
            guard try lock.take(.alone) else { return false }
            locks.turn = lock
            return true
        }
    }

    private func writeAgain() throws {
        try file.locked { try file.write(readNow().encoded()) }
    }

    private func endTurn() { locks.withLock { $0.turn = nil } }

    package func endLease(of holder: String) async throws { endTurn() }
}
