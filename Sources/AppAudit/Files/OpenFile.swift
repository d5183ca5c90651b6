import Glibc

/// An open regular file.
struct OpenFile: ~Copyable {
    private let descriptor: Int32
    let size: Int

    /// Opens a file; nil unless it is a readable regular file.
    ///
    /// - Parameter followsLink: whether to follow a symbolic link, only for the path that the user named.
    init?(_ path: [UInt8], followsLink: Bool = false) {
        let path = path + [0]
        // O_NONBLOCK, in case a pipe has replaced the file.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW)
        let opened = unsafe path.withUnsafeBytes { buffer in
            unsafe buffer.baseAddress.map { unsafe open($0.assumingMemoryBound(to: CChar.self), flags) } ?? -1
        }
        guard opened >= 0 else { return nil }
        var status = stat()
        guard unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            return nil
        }
        descriptor = opened
        size = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Reads a range; fewer bytes if the file ends earlier; nil on an error.
    borrowing func read(_ range: Range<Int>) -> [UInt8]? {
        var done = 0
        var failed = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            while done < range.count {
                let rest = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[done...])
                let result = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound + done))
                if result < 0, errno == EINTR { continue }
                failed = result < 0
                guard result > 0 else { break }
                done += result
            }
            count = done
        }
        return failed ? nil : bytes
    }
}
