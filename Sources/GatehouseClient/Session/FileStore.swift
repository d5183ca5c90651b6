public import Foundation

/// A store in a file that only its owner can read, for Linux and command lines. On Apple's systems, use
/// ``KeychainStore``.
public struct FileStore: SessionStore {
    private let url: URL

    /// - Parameter url: the file. Its directory is made if it is missing.
    public init(_ url: URL) { self.url = url }

    /// A file beside this one.
    public var signOuts: (any SessionStore)? { FileStore(url.appendingPathExtension("ended")) }

    public func read() throws -> Data? {
        do {
            return try Data(contentsOf: url)
        } catch let error as CocoaError where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code) {
            return nil
        } catch {
            throw StoreFailure.failed(error.localizedDescription)
        }
    }

    public func replace(_ old: Data?, with new: Data?) throws -> Bool {
        try locked {
            guard try read() == old else { return false }
            if let new {
                try write(new)
            } else if old != nil {
                try FileManager.default.removeItem(at: url)
            }
            return true
        }
    }

    /// Runs `body` while no other process does: between reading and writing, for this file's own processes.
    private func locked(_ body: () throws -> Bool) throws -> Bool {
        do {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let descriptor = unsafe open(url.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw StoreFailure.failed("\(url.path).lock: error \(errno)") }
            defer { close(descriptor) }
            while flock(descriptor, LOCK_EX) != 0 {
                guard errno == EINTR else { throw StoreFailure.failed("\(url.path).lock: error \(errno)") }
            }
            return try body()
        } catch let failure as StoreFailure {
            throw failure
        } catch {
            throw StoreFailure.failed(error.localizedDescription)
        }
    }

    /// The file is replaced whole: a reader sees the old text or the new one, also after a loss of power.
    private func write(_ data: Data) throws {
        let new = url.path + ".new"
        let descriptor = unsafe open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreFailure.failed("\(new): error \(errno)") }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: data)
        try file.synchronize()
        guard unsafe rename(new, url.path) == 0 else { throw StoreFailure.failed("\(url.path): error \(errno)") }
    }
}
