internal import Locking
internal import Store

/// Where the state is: a file, or a database. Several gateways may share either.
package protocol ACMEStorage: Sendable {
    /// Whether other gateways may be reading and changing it too.
    var isShared: Bool { get }

    /// The state; an empty one where there is none.
    ///
    /// - Throws: rather than pass over a state that cannot be used.
    func read() async throws -> ACMEState

    /// Changes the state in one step. No other writer's change is lost.
    ///
    /// - Parameter change: runs again where another writer was faster.
    /// - Returns: the state that is stored now.
    func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState

    /// Seals what is stored with the first of the keys that seal it, where another one has.
    func reseal() async throws

    /// Takes or renews the right to order certificates, of which one gateway has it at a time.
    ///
    /// - Parameter holder: tells one gateway from another.
    func lease(to holder: String, seconds: Int64) async throws -> Bool

    func endLease(of holder: String) async throws
}

/// The state in the state directory: `acme.json`, which only its owner may read, like the files of keys.
package final class ACMEStateFile: ACMEStorage {
    /// The locks by which gateways on one state directory know of each other. None outlasts its process.
    private struct Locks {
        /// The one that all of them have together.
        var presence: FileLock?
        /// The one that the gateway which orders has.
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
        // Before reading: a gateway that orders stores a challenge before it looks for others. One that cannot be
        // listed reads all the same.
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

    /// Nothing: a file is not sealed.
    package func reseal() async throws {}

    // MARK: Other gateways

    private func join() throws {
        try locks.withLock { locks in
            guard locks.presence == nil else { return }
            let lock = try FileLock(file.path + ".gateways")
            if try lock.take(.shared) { locks.presence = lock }
        }
    }

    /// False while no other process has the presence lock. Only the gateway that orders asks.
    package var isShared: Bool {
        locks.withLock { locks in
            guard let presence = locks.presence else { return true }
            let isAlone = (try? presence.take(.alone)) ?? false
            _ = try? presence.take(.shared)
            return !isAlone
        }
    }

    /// Takes the turn to order, which ends with the process, so that a killed gateway's successor need not wait. The
    /// state is written once more: a certificate that cannot be stored when it comes is lost, and directories issue
    /// few of one name.
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
