internal import Glibc
internal import Settings
internal import SettingsReader

extension WrittenPath {
    /// The error that prevents writing to the path on every machine and for every user: the path, or a directory above
    /// it, exists with another kind. Nil if there is none. Missing files and permissions may differ where the gateway
    /// runs.
    var error: SettingsError? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            return errno == ENOTDIR ? place.error("\(path): a directory above it is a file") : nil
        }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        return switch (kind, isDirectory) {
        case (.directory, false): place.error("\(path): is a file, not a directory")
        case (.file, true): place.error("\(path): is a directory, not a file")
        default: nil
        }
    }
}
