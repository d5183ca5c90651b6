import Dispatch
import Locking

/// A line that says how far long work is, on a terminal's standard error; nothing in a pipe or a file.
///
/// It is written on a thread of its own, since what it tells of may keep all others.
final class ProgressLine: Sendable {
    private let terminal = Terminal.standardError
    private let text: @Sendable () -> String
    private let queue = DispatchQueue(label: "progress")
    /// Whether it is to be seen.
    private let isShown = Locked(false)

    private static let interval = DispatchTimeInterval.milliseconds(200)

    /// - Parameter text: what it says now.
    init(_ text: @escaping @Sendable () -> String) {
        self.text = text
    }

    /// Shows the line while something is done, and takes it away afterwards.
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
        // At once, so that work of no time shows it as well; from then on beside the work.
        show()
    }

    private func show() {
        // No more once it has ended: what the command tells comes then.
        let goesOn = isShown.withLock { isShown in
            if isShown { StandardError.write("\r\u{1B}[K\(text())") }
            return isShown
        }
        if goesOn { queue.asyncAfter(deadline: .now() + Self.interval) { self.show() } }
    }

    /// Takes the line away, for something that is to stay there.
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
