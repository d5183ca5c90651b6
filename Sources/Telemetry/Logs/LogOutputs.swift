internal import Locking

/// The outputs in use, one for each destination, so that logs with the same file share it.
final class LogOutputs: Sendable {
    private struct Entry { weak var output: LogOutput? }

    private let files = Locked<[String: Entry]>([:])

    init() {}

    /// Returns the output of a destination. A file stays open as long as its output is retained.
    ///
    /// - Parameter isPrivate: whether a new file is readable only by its owner.
    func output(for destination: LogDestination, isPrivate: Bool = false) throws(LogError) -> LogOutput {
        switch destination {
        case .standardOutput: return .standardOutput
        case .standardError: return .standardError
        case .file(let path):
            if let known = files.withLock({ $0[path]?.output }) { return known }
            let output = try LogOutput(path: path, isPrivate: isPrivate)
            files.withLock { $0[path] = Entry(output: output) }
            return output
        }
    }

    /// Reopens every file.
    ///
    /// - Returns: an error for each file that cannot be reopened; it is still written to through its old descriptor.
    func reopen() -> [LogError] {
        let outputs = files.withLock { $0.values.compactMap(\.output) }
        var errors: [LogError] = []
        for output in outputs {
            do throws(LogError) { try output.reopen() } catch { errors.append(error) }
        }
        return errors
    }
}
