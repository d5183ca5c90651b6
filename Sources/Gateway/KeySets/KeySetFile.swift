internal import FoundationEssentials
internal import Synchronization

/// The last good key set of one issuer, kept in the state directory so that a cold start can verify at once.
package struct KeySetFile: Sendable {
    private let url: URL

    /// - Parameters:
    ///   - directory: the state directory.
    ///   - issuerName: the configured name; characters outside letters and digits are written as `_`.
    package init(directory: String, issuerName: String) {
        let name = String(issuerName.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        url = URL(fileURLWithPath: directory).appendingPathComponent("key-set-\(name).json")
    }

    /// First line: when it was fetched, in seconds since 1970. The rest: the document as it came.
    func write(_ document: [UInt8], fetchedAt: Int64) throws {
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(Array("\(fetchedAt)\n".utf8) + document).write(to: url, options: .atomic)
    }

    /// Nil when nothing is kept.
    func read() throws -> (document: [UInt8], fetchedAt: Int64)? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        let bytes = [UInt8](try Data(contentsOf: url))
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let fetchedAt = Int64(String(decoding: bytes[..<end], as: UTF8.self))
        else { return nil }
        return (Array(bytes[(end + 1)...]), fetchedAt)
    }
}

/// Numbers for ``Pipeline/KeySet/generation``: no two sets of this process share one.
enum KeySetGeneration {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
