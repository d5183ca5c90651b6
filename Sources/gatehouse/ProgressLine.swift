import Dispatch
import Locking

/// A line that shows the progress of long work on standard error, if that is a terminal.
///
/// It is written by a thread of its own, since the work may occupy all others.
final class ProgressLine: Sendable {
    private let terminal = Terminal.standardError
    private let text: @Sendable () -> String
    private let queue = DispatchQueue(label: "progress")
    /// Whether the line is visible.
    private let isShown = Locked(false)

    private static let interval = DispatchTimeInterval.milliseconds(200)

    /// - Parameter text: returns the current text of the line.
    init(_ text: @escaping @Sendable () -> String) {
        self.text = text
    }

    /// Shows the line while `work` runs, and removes it afterwards.
    static func showing<Value>(
        _ text: @escaping @Sendable () -> String, while work: (ProgressLine) async throws -> Value
    ) async throws -> Value {
        let line = ProgressLine(text)
        line.begin()
        defer { line.end() }
        return try await work(line)
    }

    private func begin() {
        guard terminal.movesCursor else { return }
        isShown.withLock { $0 = true }
        // The first output is immediate, so that short work shows it as well; later updates run beside the work.
        show()
    }

    private func show() {
        // Nothing is written after the end, when the command prints its result.
        let goesOn = isShown.withLock { isShown in
            if isShown { StandardError.write("\r\u{1B}[K\(text())") }
            return isShown
        }
        if goesOn { queue.asyncAfter(deadline: .now() + Self.interval) { self.show() } }
    }

    /// Removes the line before `write` prints permanent output.
    func interrupt(_ write: () -> Void) {
        isShown.withLock { isShown in
            if isShown { StandardError.write("\r\u{1B}[K") }
            write()
        }
    }

    private func end() {
        isShown.withLock { isShown in
            if isShown { StandardError.write("\r\u{1B}[K") }
            isShown = false
        }
    }
}
