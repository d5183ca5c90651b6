/// Reads single files of a tree and finds code that bypasses the gateway.
struct FileAudit: Sendable {
    enum Outcome: Sendable {
        case read([Finding])
        /// A file that no rule applies to, such as an image.
        case irrelevant
        case archive(AuditReport)
        /// An archive that is read only if the user names it.
        case skippedArchive
        case unread(UnreadFile.Reason)
    }

    let root: [UInt8]
    let scanner: Scanner
    /// Whether the user named this path, which may then be a symbolic link.
    var isNamed = false

    private static let pieceSize = 1 << 20

    func read(_ path: [UInt8]) -> Outcome {
        let text = String(decoding: path, as: UTF8.self)
        let name = FileNames.last(of: text)
        guard FileNames.mayBeRead(name) else { return .irrelevant }
        let isArchive = FileNames.isArchive(name)
        guard isNamed || !isArchive || FileNames.isAppOrLibrary(name) else { return .skippedArchive }
        guard let file = OpenFile(root + [UInt8(ascii: "/")] + path, followsLink: isNamed) else {
            return .unread(.unreadable)
        }
        if isArchive { return .archive(ArchiveAudit(scanner: scanner).report(on: ArchiveBytes(file), path: text)) }
        var reader = ContentReader(FileNames.language(of: name))
        var place = 0
        while place < file.size {
            guard let piece = file.read(place..<min(place + Self.pieceSize, file.size)) else {
                return .unread(.unreadable)
            }
            guard !piece.isEmpty, reader.add(piece) else { break }
            place += piece.count
        }
        return Self.outcome(of: reader, path: text, isShipped: false, scanner)
    }

    /// - Parameter isShipped: whether the file is in a released app, where nothing is a test.
    static func outcome(
        of reader: consuming ContentReader, path: String, isShipped: Bool, _ scanner: Scanner
    ) -> Outcome {
        switch reader.finish() {
        case .content(let content):
            outcome(of: content, findings(in: content, path: path, isShipped: isShipped, scanner))
        case .irrelevant: .irrelevant
        case .tooLarge: .unread(.tooLarge)
        case .damaged: .unread(.damaged)
        }
    }

    /// - Parameter findings: nil if the file has too many hits.
    private static func outcome(of content: Content, _ findings: [Finding]?) -> Outcome {
        guard findings?.isEmpty != true else { return .read([]) }
        if content.language == .json, AuditDocument.isOne(content.bytes) { return .irrelevant }
        return findings.map { .read($0) } ?? .unread(.tooManyNames)
    }

    private static func findings(
        in content: Content, path: String, isShipped: Bool, _ scanner: Scanner
    ) -> [Finding]? {
        let name = FileNames.last(of: path)
        var role = FileRole(path: path, language: content.language)
        if isShipped { (role.isTest, role.isBackend) = (false, false) }
        guard var findings = scanner.findings(in: content, path: path, role: role) else { return nil }
        if FileNames.isAmplifyConfiguration(name) {
            let rule = Rule.amplifyConfiguration
            findings.insert(
                Finding(
                    rule: rule, path: path, line: nil, column: nil, name: name, context: role.context,
                    replacement: rule.replacement), at: 0)
        }
        return Fingerprint.assign(to: findings)
    }
}
