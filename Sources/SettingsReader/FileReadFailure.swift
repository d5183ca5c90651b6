internal import Glibc

/// The reason why a file can't be read.
package enum FileReadFailure: Error, Sendable, Equatable, CustomStringConvertible {
    case notFound
    case notPermitted
    case tooLarge
    case directory
    /// A pipe, a socket or a device.
    case special
    /// Any other `errno`.
    case system(Int32)

    init(_ number: Int32) {
        switch number {
        case ENOENT, ENOTDIR: self = .notFound
        case EACCES, EPERM: self = .notPermitted
        case EISDIR: self = .directory
        // The error of open(2) for a socket.
        case ENXIO: self = .special
        default: self = .system(number)
        }
    }

    package var description: String {
        switch self {
        case .notFound: "there is no such file"
        case .notPermitted: "permission denied"
        case .tooLarge: "it is larger than 1 MiB"
        case .directory: "it is a directory"
        case .special: "it is not a regular file"
        case .system(let number): unsafe String(cString: strerror(number))
        }
    }
}

/// Reads the regular file at `path`.
///
/// - Throws: ``FileReadFailure`` if it can't be read or exceeds 1 MiB.
package func readWholeFile(_ path: String) throws(FileReadFailure) -> [UInt8] {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileReadFailure(errno) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw FileReadFailure(errno) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw .directory
    default: throw .special
    }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 64 << 10)
    while true {
        let count = unsafe read(descriptor, &part, part.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw FileReadFailure(errno) }
        guard count > 0 else { return bytes }
        bytes += part[..<count]
        guard bytes.count <= 1 << 20 else { throw .tooLarge }
    }
}
