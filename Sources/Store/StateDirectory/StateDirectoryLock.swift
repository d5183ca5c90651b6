internal import Glibc

/// The lock on a state directory: shared by gateways and commands, exclusive for a restore. It is released with the
/// value, and with the process however that ends.
final class StateDirectoryLock: Sendable {
    enum Use: Sendable {
        case inUse
        case alone
    }

    private let descriptor: CInt

    /// Creates the directory if it is missing.
    ///
    /// - Throws: ``StartupError``, also if another holder excludes this use.
    init(_ stateDirectory: String, _ use: Use) throws(StartupError) {
        let file = OwnerOnlyFile(path: "\(stateDirectory)/gatehouse.sqlite")
        do {
            descriptor = try file.openLock()
        } catch {
            throw StartupError(ofStateDirectory: error)
        }
        while flock(descriptor, (use == .alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            let isLocked = errno == EWOULDBLOCK
            Glibc.close(descriptor)
            throw StartupError(description: "\(stateDirectory): \(Self.error(isLocked, use))")
        }
    }

    deinit {
        Glibc.close(descriptor)
    }

    private static func error(_ isLocked: Bool, _ use: Use) -> String {
        switch (isLocked, use) {
        case (false, _): "cannot be locked"
        case (true, .inUse): "a backup is being restored"
        case (true, .alone): "is in use: stop the gateway first"
        }
    }
}
