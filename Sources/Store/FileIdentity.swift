internal import Glibc

/// Distinguishes a file from a later file at the same path.
struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    /// Nil if there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
