/// The lock on a state directory: shared by gateways and commands, exclusive for a restore. It is released with the
/// value, and with the process however that ends.
struct StateDirectoryLock {
    enum Use: Sendable {
        case inUse
        case alone
    }

    private let lock: FileLock

    /// Creates the directory if it is missing.
    ///
    /// - Throws: ``StartupError``, also if another holder excludes this use.
    init(_ stateDirectory: String, _ use: Use) throws(StartupError) {
        do {
            lock = try FileLock("\(stateDirectory)/gatehouse.sqlite")
            if try lock.take(use == .alone ? .alone : .shared) { return }
        } catch {
            throw StartupError(ofStateDirectory: error)
        }
        let reason = use == .alone ? "is in use: stop the gateway first" : "a backup is being restored"
        throw StartupError(description: "\(stateDirectory): \(reason)")
    }
}
