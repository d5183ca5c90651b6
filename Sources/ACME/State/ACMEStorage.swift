internal import Store

/// Where the state is: a file of one gateway, or a database that several gateways share.
package protocol ACMEStorage: Sendable {
    /// Whether other gateways read and change it too.
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
package struct ACMEStateFile: ACMEStorage {
    private let file: OwnerOnlyFile

    package var isShared: Bool { false }

    package init(stateDirectory: String) {
        file = OwnerOnlyFile(
            path: "\(stateDirectory)/\(StateDirectory.acmeFileName)", maximumBytes: ACMEState.longest)
    }

    package func read() async throws -> ACMEState { try readNow() }

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

    /// Nobody else orders. The state is written once more: a certificate that cannot be stored when it comes is lost,
    /// and directories issue few of one name.
    package func lease(to holder: String, seconds: Int64) async throws -> Bool {
        try writeAgain()
        return true
    }

    private func writeAgain() throws {
        try file.locked { try file.write(readNow().encoded()) }
    }

    package func endLease(of holder: String) async throws {}
}
