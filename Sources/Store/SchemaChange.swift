internal import Glibc

/// A schema change in progress. It is recorded so that a change that is interrupted, even twice, resumes with the copy
/// made before it: no version can use a copy made between two steps.
struct SchemaChange {
    /// The lock file of the change, open, and its path.
    let file: CInt
    let path: String
    /// The inode number of the database file.
    let database: UInt64

    /// Returns the number of steps that this database had when an interrupted change to `target` steps began; nil if
    /// there was none.
    func begun(to target: Int) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 80)
        let count = unsafe pread(file, &bytes, bytes.count, 0)
        let numbers = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " ")).map {
            UInt64(String(decoding: $0, as: UTF8.self))
        }
        guard numbers.count == 3, numbers[1] == UInt64(target), numbers[2] == database else { return nil }
        return numbers[0].flatMap { Int(exactly: $0) }
    }

    /// Records that the database is about to change from `steps` to `target` steps. The record survives a power loss.
    func begin(steps: Int, target: Int) throws {
        try end()
        let text = Array("\(steps) \(target) \(database)".utf8)
        guard unsafe pwrite(file, text, text.count, 0) == text.count, fsync(file) == 0 else {
            throw KeyFileError(path, failed: "cannot be written")
        }
    }

    func end() throws {
        guard ftruncate(file, 0) == 0 else { throw KeyFileError(path, failed: "cannot be written") }
    }
}
