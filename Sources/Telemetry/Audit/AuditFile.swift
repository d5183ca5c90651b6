internal import Glibc
internal import Synchronization

/// A file that lines are appended to, which only its owner may read.
package final class AuditFile: Sendable {
    private struct State {
        var descriptor: CInt
        var lost = 0
    }

    private let state: Mutex<State>

    package init(path: String) throws(AuditFileFault) {
        let opened = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else {
            let number = errno
            throw AuditFileFault(description: "\(path): cannot be opened: \(unsafe String(cString: strerror(number)))")
        }
        state = Mutex(State(descriptor: opened))
    }

    deinit {
        state.withLock { state in
            _ = Glibc.close(state.descriptor)
        }
    }

    /// Writings that failed, as on a full disk.
    package var lost: Int { state.withLock { $0.lost } }

    package func write(_ lines: [UInt8]) {
        state.withLock { state in
            var written = 0
            while written < lines.count {
                let count = unsafe lines.withUnsafeBytes { buffer in
                    unsafe Glibc.write(
                        state.descriptor, buffer.baseAddress?.advanced(by: written), lines.count - written)
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    state.lost += 1
                    return
                }
                written += count
            }
        }
    }
}

/// Why an audit file cannot be written to, in an operator's words.
package struct AuditFileFault: Error, CustomStringConvertible {
    package let description: String
}
