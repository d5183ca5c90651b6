/// A file's bytes in the form that the rules read: binaries and binary property lists are reduced to their text.
struct Content {
    let bytes: [UInt8]
    let language: Language
    /// Whether strings follow each other without separators, as in Hermes bytecode.
    var isPacked = false
}

/// Builds a file's content from pieces of its bytes. Memory use is bounded, whatever the file's size.
struct ContentReader {
    private enum Kind {
        case unknown
        case whole([UInt8])
        case runs(TextRuns, isPacked: Bool)
        case irrelevant
        case tooLarge
    }

    enum Outcome {
        case content(Content)
        case irrelevant
        case tooLarge
        /// A damaged property list.
        case damaged
    }

    /// The maximum size of text files; longer ones are reported as unread. Programs may be longer.
    static let maximumBytes = 64 << 20

    /// The language by the file's name; nil for a file that is read only if it is a program.
    private let named: Language?
    private var kind = Kind.unknown

    init(_ named: Language?) { self.named = named }

    /// - Returns: whether the next piece is required.
    mutating func add(_ piece: [UInt8]) -> Bool {
        switch kind {
        case .unknown: kind = begin(piece)
        case .whole(var bytes):
            kind = .irrelevant
            bytes += piece
            kind = bytes.count <= Self.maximumBytes ? .whole(bytes) : .tooLarge
        case .runs(var runs, let isPacked):
            kind = .irrelevant
            runs.add(piece)
            kind = .runs(runs, isPacked: isPacked)
        case .irrelevant, .tooLarge: break
        }
        if case .irrelevant = kind { return false }
        if case .tooLarge = kind { return false }
        return true
    }

    private func begin(_ piece: [UInt8]) -> Kind {
        let isProgram = FileNames.isProgram(piece)
        guard isProgram || named != nil else { return .irrelevant }
        if BinaryPropertyList.isOne(piece) { return .whole(piece) }
        guard isProgram || named == .binary || named?.isProgram == false && piece.prefix(8000).contains(0) else {
            return .whole(piece)
        }
        var runs = TextRuns()
        runs.add(piece)
        return .runs(runs, isPacked: FileNames.isHermes(piece))
    }

    consuming func finish() -> Outcome {
        switch kind {
        case .irrelevant: return .irrelevant
        case .tooLarge: return .tooLarge
        case .unknown: return named.map { .content(Content(bytes: [], language: $0)) } ?? .irrelevant
        case .whole(let bytes):
            guard BinaryPropertyList.isOne(bytes) else {
                return .content(Content(bytes: bytes, language: named ?? .binary))
            }
            return BinaryPropertyList.text(of: bytes).map { .content(Content(bytes: $0, language: .binary)) }
                ?? .damaged
        case .runs(var runs, let isPacked):
            runs.finish()
            guard !runs.isTruncated else { return .tooLarge }
            return .content(Content(bytes: runs.text, language: .binary, isPacked: isPacked))
        }
    }
}
