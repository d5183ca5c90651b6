import Locking

/// The servers whose responses are pending.
final class AwaitedAnswers: Sendable {
    private struct State {
        var asked = 0
        /// In the order of the requests; a name is repeated for each pending response.
        var awaited: [String] = []
    }

    private let state = Locked(State())

    /// The width of a line that terminals do not wrap.
    private static let columns = 79

    func begin(_ subjects: [String]) {
        state.withLock { $0 = State(asked: subjects.count, awaited: subjects) }
    }

    func end(_ subject: String) {
        state.withLock { state in
            if let index = state.awaited.firstIndex(of: subject) { state.awaited.remove(at: index) }
        }
    }

    /// The number of servers that have responded, and the names of the others as far as they fit on the line.
    var text: String {
        let state = state.withLock { $0 }
        guard !state.awaited.isEmpty else { return "\(state.asked) of \(state.asked) have responded" }
        var line = "\(state.asked - state.awaited.count) of \(state.asked) have responded; waiting for "
        for (index, subject) in state.awaited.enumerated() {
            let name = (index == 0 ? "" : ", ") + Columns.visible(subject)
            guard line.count + name.count + ", …".count <= Self.columns else {
                return line + (index == 0 ? "\(state.awaited.count)" : ", …")
            }
            line += name
        }
        return line
    }
}
