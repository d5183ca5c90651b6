internal import Glibc

/// A lock that gateways ask each other for without waiting. It ends with the value, and with the process however that
/// ends. Two values exclude each other in one process too.
package final class FileLock: Sendable {
    package enum Use: Sendable {
        case shared
        case alone
    }

    private let path: String
    private let descriptor: CInt

    /// Nothing is locked yet. Makes the directory where it is missing.
    ///
    /// - Parameter path: the file's, without `.lock` at its end.
    package init(_ path: String) throws(KeyFileError) {
        self.path = path + ".lock"
        descriptor = try OwnerOnlyFile(path: path).openLock()
    }

    deinit {
        // A child of this process that has not begun yet may have a copy of the descriptor.
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }

    /// Takes the lock, or changes its use. Where that fails, nothing is locked any more (flock(2)).
    ///
    /// - Returns: false while others have it for a use that excludes this one.
    package func take(_ use: Use) throws(KeyFileError) -> Bool {
        while flock(descriptor, (use == .alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw KeyFileError(path, failed: "cannot be locked") }
            return false
        }
        return true
    }
}
