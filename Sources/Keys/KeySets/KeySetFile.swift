internal import Encoding
internal import FoundationEssentials
package import Pipeline
internal import Store
internal import Synchronization

/// The last good key set of one issuer, stored in the state directory so that tokens can be verified right after a cold
/// start.
package struct KeySetFile: Sendable {
    private let directory: String
    private let name: String
    /// The source of the keys. A set from another source belongs to another issuer, whatever the file's name.
    private let source: String
    private let isReadOnly: Bool

    /// - Parameters:
    ///   - directory: the state directory.
    ///   - issuer: its name determines the file's; characters outside letters, digits, `-` and `_` are written as `_`.
    ///   - isReadOnly: whether fetched sets are not stored.
    package init(directory: String, issuer: Issuer, isReadOnly: Bool = false) {
        let name = String(issuer.name.map { Self.isPlain($0) ? $0 : "_" })
        self.directory = directory
        self.name = "\(StateDirectory.keySetPrefix)\(name).json"
        source = issuer.keySource.place
        self.isReadOnly = isReadOnly
    }

    private static func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "-")
    }

    private var path: String { "\(directory)/\(name)" }

    /// Writes a set. The first line has the time of the fetch, in seconds since 1970, and the source. The rest is the
    /// document as received.
    func write(_ document: [UInt8], fetchedAt: Int64) throws {
        guard !isReadOnly else { return }
        try StateDirectory(path: directory).make()
        // With a random name, so that gateways that share the directory can write at the same time.
        try OwnerOnlyFile(path: path).write(
            Array("\(fetchedAt) \(source)\n".utf8) + document, firstAs: ".new-\(UInt32.random(in: 0 ... .max))")
    }

    /// Nil if no set is stored, or only one from another source.
    ///
    /// - Throws: also if users other than the owner may change the file: they could have put keys of their own there.
    func read() throws -> (document: [UInt8], fetchedAt: Int64)? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        if let error = StateDirectory(path: directory).error(ofFile: name) { throw error }
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard line.count == 2, let fetchedAt = Int64(line[0]), line[1].utf8.elementsEqual(source.utf8) else {
            return nil
        }
        return (Array(bytes[(end + 1)...]), fetchedAt)
    }
}

/// Numbers for ``Pipeline/KeySet/generation``: no two sets of this process share one.
package enum KeySetGeneration {
    private static let last = Atomic<UInt64>(0)

    package static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
