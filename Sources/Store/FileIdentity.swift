internal import Glibc

/// Tells a file from another one that has its path later.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    /// Nil where there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
