/// Reads single files of one tree, and finds in each what bypasses the gateway.
struct FileAudit: Sendable {
    enum Outcome: Sendable {
        case read([Finding])
        /// Images and other files that no rule is about.
        case irrelevant
        case archive
        case unreadable
    }

    let root: [UInt8]
    let scanner: Scanner
    /// Whether the path is what the user named, which may be a link.
    var followsLink = false

    /// A larger file is reported as one that was not read.
    static let maximumBytes = 64 << 20

    func read(_ path: [UInt8]) -> Outcome {
        let text = String(decoding: path, as: UTF8.self)
        let name = text.split(separator: "/").last.map(String.init) ?? text
        guard !FileNames.isArchive(name) else { return .archive }
        let named = FileNames.language(of: name)
        guard named != nil || FileNames.mayBeProgram(name) else { return .irrelevant }
        guard let file = OpenFile(root + [UInt8(ascii: "/")] + path, followsLink: followsLink) else {
            return .unreadable
        }
        if named == nil {
            guard let first = file.read(0..<4) else { return .unreadable }
            guard FileNames.isProgram(first) else { return .irrelevant }
        }
        guard file.size <= Self.maximumBytes, let bytes = file.read(0..<file.size) else { return .unreadable }
        guard let content = Content(bytes, named) else { return .unreadable }
        return .read(findings(in: content, name: name, path: text))
    }

    private func findings(in content: Content, name: String, path: String) -> [Finding] {
        let role = FileRole(path: path, language: content.language)
        var findings = scanner.findings(in: content.bytes, path: path, language: content.language, role: role)
        if FileNames.isAmplifyConfiguration(name) {
            let rule = Rule.amplifyConfiguration
            findings.insert(
                Finding(
                    rule: rule, path: path, line: nil, column: nil, name: name, context: role.isTest ? .test : .code,
                    replacement: rule.replacement), at: 0)
        }
        return Fingerprint.assign(to: findings)
    }
}

/// A file's bytes as the rules read them: binary property lists as text.
private struct Content {
    let bytes: [UInt8]
    let language: Language

    /// Nil for a property list that is damaged.
    init?(_ bytes: [UInt8], _ named: Language?) {
        if BinaryPropertyList.isOne(bytes) {
            guard let text = BinaryPropertyList.text(of: bytes) else { return nil }
            (self.bytes, language) = (text, .binary)
        } else {
            self.bytes = bytes
            language = FileNames.isProgram(bytes) ? .binary : named ?? .binary
        }
    }
}
