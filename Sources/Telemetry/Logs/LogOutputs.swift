internal import Locking

/// The outputs in use, one for each destination, so that logs to one file share it.
final class LogOutputs: Sendable {
    private struct Entry { weak var output: LogOutput? }

    private let files = Locked<[String: Entry]>([:])

    init() {}

    /// A file stays open for as long as someone holds its output.
    ///
    /// - Parameter isPrivate: whether a file that is made may be read by nobody but its owner.
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

    /// Opens every file anew.
    ///
    /// - Returns: what stands against it, for each that is written on as it is.
    func reopen() -> [LogError] {
        let outputs = files.withLock { $0.values.compactMap(\.output) }
        var errors: [LogError] = []
        for output in outputs {
            do throws(LogError) { try output.reopen() } catch { errors.append(error) }
        }
        return errors
    }
}
