import Locking

/// The servers that have been asked and have not answered yet.
final class AwaitedAnswers: Sendable {
    private struct State {
        var asked = 0
        /// In the order in which they were asked; a name as often as it is awaited.
        var awaited: [String] = []
    }

    private let state = Locked(State())

    /// A line of a terminal that is not to be broken.
    private static let columns = 79

    func begin(_ subjects: [String]) {
        state.withLock { $0 = State(asked: subjects.count, awaited: subjects) }
    }

    func end(_ subject: String) {
        state.withLock { state in
            if let index = state.awaited.firstIndex(of: subject) { state.awaited.remove(at: index) }
        }
    }

    /// How many have answered, and as many names of the others as there is room for.
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
