internal import Glibc

/// A non-blocking lock between gateways. It is released with the value, and with the process however that ends. Two
/// values exclude each other in one process too.
package final class FileLock: Sendable {
    package enum Use: Sendable {
        case shared
        case alone
    }

    private let path: String
    private let descriptor: CInt

    /// Opens the lock file without locking it. Creates the directory if it is missing.
    ///
    /// - Parameter path: the path of the lock file without its `.lock` suffix.
    package init(_ path: String) throws(KeyFileError) {
        self.path = path + ".lock"
        descriptor = try OwnerOnlyFile(path: path).openLock()
    }

    deinit {
        // A forked child that has not yet called exec may have a copy of the descriptor.
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }

    /// Takes the lock, or changes its mode. If that fails, no lock is held any more (flock(2)).
    ///
    /// - Returns: false if another holder excludes this mode.
    package func take(_ use: Use) throws(KeyFileError) -> Bool {
        while flock(descriptor, (use == .alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw KeyFileError(path, failed: "cannot be locked") }
            return false
        }
        return true
    }
}
