// Compiled by run.sh into one module with Sources/AppAudit.

private func content(_ bytes: [UInt8], _ language: Language, by step: Int) -> Content? {
    var reader = ContentReader(language)
    for start in stride(from: 0, to: bytes.count, by: step) {
        guard reader.add(Array(bytes[start..<min(start + step, bytes.count)])) else { return nil }
    }
    guard case .content(let content) = reader.finish() else { return nil }
    return content
}

private func checkRegions(_ bytes: [UInt8], _ language: Language) {
    let regions = Lexer.regions(of: bytes, language).all
    precondition(regions.allSatisfy { $0.range.upperBound <= bytes.count }, "a region is outside the text")
    precondition(
        zip(regions, regions.dropFirst()).allSatisfy { $0.range.upperBound <= $1.range.lowerBound }, "regions overlap")
}

/// Input: a byte for the language, and a file in it.
@_cdecl("fuzzAppSource")
public func fuzzAppSource(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let language = Language.allCases[Int(input[0]) % Language.allCases.count]
    let bytes = Array(input.dropFirst())
    checkRegions(bytes, language)
    guard let whole = content(bytes, language, by: max(bytes.count, 1)) else { return 0 }
    // Programs are known by their first bytes, which are in the first piece.
    if language == .binary, let pieces = content(bytes, language, by: 16) {
        precondition(whole.bytes == pieces.bytes || BinaryPropertyList.isOne(bytes), "pieces have other texts")
    }
    for path in ["App/A.swift", "Package.resolved", "Info.plist"] {
        let role = FileRole(path: path, language: whole.language)
        guard let findings = Scanner.standard.findings(in: whole, path: path, role: role) else { continue }
        let assigned = Fingerprint.assign(to: findings)
        precondition(Set(assigned.map(\.fingerprint)).count == findings.count, "two findings have one fingerprint")
        let lines = whole.bytes.count { $0 == UInt8(ascii: "\n") } + 1
        for finding in findings {
            precondition((finding.line ?? 1) <= lines && (finding.column ?? 1) >= 1, "a place is outside the file")
            precondition(finding.name.utf8.count <= 400, "a name is too long")
        }
    }
    return 0
}
