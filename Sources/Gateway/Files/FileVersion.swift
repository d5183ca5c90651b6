internal import Glibc

/// The state of a file that reveals a change without reading the file. Symbolic links are followed: mounted secrets are
/// replaced by a link to another directory.
enum FileVersion: Hashable, Sendable {
    /// The file does not exist or cannot be accessed.
    case absent
    case present(device: UInt64, inode: UInt64, size: Int64, modified: [Int], changed: [Int])

    init(of path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            self = .absent
            return
        }
        self = .present(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
            modified: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec],
            changed: [status.st_ctim.tv_sec, status.st_ctim.tv_nsec])
    }
}
