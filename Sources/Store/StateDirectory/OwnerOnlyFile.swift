internal import Glibc

/// The reason why a key file cannot be used, for an operator.
package struct KeyFileError: Error, Equatable, CustomStringConvertible {
    package let description: String
    /// Whether a retry may succeed without a correction, because the system lacks a resource.
    package let mayPass: Bool

    package init(_ path: String, _ what: String, mayPass: Bool = false) {
        description = "\(path): \(what)"
        self.mayPass = mayPass
    }

    /// Combines several errors of one place.
    init(all errors: [KeyFileError], _ first: KeyFileError) {
        description = errors.map(\.description).joined(separator: "; ")
        mayPass = first.mayPass
    }

    /// Appends the system's error message of the last call.
    init(_ path: String, failed step: String) {
        let number = errno
        self.init(path, "\(step): \(unsafe String(cString: strerror(number)))", mayPass: Self.passing.contains(number))
    }

    private static let passing: Set<CInt> = [ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM]
}

/// A small file that only its owner may read. It is replaced atomically.
package struct OwnerOnlyFile: Sendable {
    package let path: String
    private let maximumBytes: Int

    /// - Parameter maximumBytes: a larger file is neither read nor written. No key file reaches the default.
    package init(path: String, maximumBytes: Int = 1 << 20) {
        self.path = path
        self.maximumBytes = maximumBytes
    }

    private var directory: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// Returns the whole file; nil if there is none.
    ///
    /// - Throws: ``KeyFileError``, also if others than its owner may read or change the file: its contents may be known
    ///   to them already.
    package func read() throws(KeyFileError) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw KeyFileError(path, failed: "cannot be read")
        }
        defer { Glibc.close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw KeyFileError(path, failed: "cannot be read") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes else {
            throw KeyFileError(path, "is not a file of keys")
        }
        if let error = StateDirectory.error(ofFile: path, status.st_mode, isSecret: true) { throw error }
        return try contents(descriptor, count: Int(status.st_size))
    }

    private func contents(_ descriptor: CInt, count: Int) throws(KeyFileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), count - filled)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw KeyFileError(path, failed: "cannot be read") }
            filled += got
        }
        return bytes
    }

    /// Replaces the file with `bytes`. When this returns, they survive a power loss; when it throws, the previous file
    /// is unchanged.
    ///
    /// - Parameter end: the suffix of the temporary file.
    /// - Precondition: inside ``locked(_:)``, or no other writer uses the suffix.
    package func write(_ bytes: [UInt8], firstAs end: String = ".new") throws(KeyFileError) {
        guard bytes.count <= maximumBytes else {
            throw KeyFileError(path, "cannot be written: \(bytes.count) bytes are more than \(maximumBytes)")
        }
        let temporary = path + end
        // Left behind by a process that was killed during a write.
        unsafe unlink(temporary)
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw KeyFileError(temporary, failed: "cannot be made") }
        var isInPlace = false
        defer {
            Glibc.close(descriptor)
            if !isInPlace { unsafe unlink(temporary) }
        }
        try fill(descriptor, temporary, bytes)
        StateDirectory(path: directory).giveToOwner(descriptor)
        guard fsync(descriptor) == 0, unsafe rename(temporary, path) == 0 else {
            throw KeyFileError(path, failed: "cannot be written")
        }
        isInPlace = true
        try StateDirectory(path: directory).sync()
    }

    private func fill(_ descriptor: CInt, _ path: String, _ bytes: [UInt8]) throws(KeyFileError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw KeyFileError(path, failed: "cannot be written") }
            written += count
        }
    }

    package func remove() { unsafe unlink(path) }

    /// Runs `body` under a lock that excludes other processes: a command and a running gateway may both change the
    /// file. Creates the directory if it is missing.
    package func locked<Value>(_ body: () throws -> Value) throws -> Value {
        let lock = try openLock()
        defer { Glibc.close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw KeyFileError(path + ".lock", failed: "cannot be locked") }
        }
        return try body()
    }

    /// Opens the lock file beside this file, which cannot be locked itself because it is replaced. Creates the
    /// directory if it is missing.
    ///
    /// - Throws: ``KeyFileError``, also if others may write to the directory.
    func openLock() throws(KeyFileError) -> CInt {
        try StateDirectory(path: directory).make()
        let lock = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw KeyFileError(path + ".lock", failed: "cannot be made") }
        StateDirectory(path: directory).giveToOwner(lock)
        return lock
    }
}
