internal import Glibc

/// A change of the schema that is under way, noted so that one that is stopped, even twice, goes on later with the copy
/// from before it: a copy from between two of its steps is of no use to any version.
struct SchemaChange {
    /// The lock that is held for it, open, and its path.
    let file: CInt
    let path: String
    /// The number of the database's file.
    let database: UInt64

    /// How many steps this database had when a change to `target` of them began that was stopped; nil where none was.
    func begun(to target: Int) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 80)
        let count = unsafe pread(file, &bytes, bytes.count, 0)
        let numbers = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " ")).map {
            UInt64(String(decoding: $0, as: UTF8.self))
        }
        guard numbers.count == 3, numbers[1] == UInt64(target), numbers[2] == database else { return nil }
        return numbers[0].flatMap { Int(exactly: $0) }
    }

    /// Notes that the database, with so many steps, is about to get `target` of them. Outlasts a loss of power.
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
