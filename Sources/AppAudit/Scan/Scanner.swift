/// Applies all signatures to a file.
package struct Scanner: Sendable {
    private let signatures: [Signature]
    private let needles: NeedleSet

    package static let maximumDomains = 50

    /// The scanner without custom domains.
    static let standard = Scanner()

    /// - Parameter domains: custom domains of pools.
    package init(domains: [String] = []) {
        signatures =
            Signatures.all
            + domains.filter { !$0.isEmpty && $0.utf8.count < 254 }.prefix(Self.maximumDomains).map {
                Signature(.customDomain, $0).inAnyCase().inFiles(.all)
            }
        needles = NeedleSet(signatures.map(\.text))
    }

    /// Returns the findings of one file, by position.
    ///
    /// - Parameter path: the path in the findings.
    /// - Returns: nil if the file has too many hits.
    func findings(in content: Content, path: String, role: FileRole) -> [Finding]? {
        let hits = needles.hits(in: content.bytes.span)
        guard hits.count < NeedleSet.maximumHits else { return nil }
        guard hits.contains(where: { signatures[$0.needle].rule != nil }) else { return [] }
        let file = ScannedFile(content, role: role)
        let evidence = evidence(of: hits, in: file)
        var findings: [Finding] = []
        var seen: Set<SeenPlace> = []
        var end = 0
        for hit in hits.sorted(by: { ($0.range.lowerBound, -$0.range.count) < ($1.range.lowerBound, -$1.range.count) })
        {
            // Without word boundaries, only the longest of several overlapping names counts.
            guard !file.isPacked || hit.range.upperBound > end else { continue }
            guard let finding = finding(for: hit, in: file, path: path, evidence) else { continue }
            end = hit.range.upperBound
            if seen.insert(SeenPlace(finding, isLockFile: role.isManifest)).inserted { findings.append(finding) }
        }
        // Xcode projects repeat each name in comments.
        if role.isManifest {
            let named = Set(findings.filter { $0.context != .comment }.map(\.name))
            findings.removeAll { $0.context == .comment && named.contains($0.name) }
        }
        return findings
    }

    private func evidence(of hits: [NeedleSet.Hit], in file: ScannedFile) -> Set<Signature.Evidence> {
        var found: Set<Signature.Evidence> = []
        for hit in hits {
            let signature = signatures[hit.needle]
            guard let evidence = signature.gives, !found.contains(evidence), signature.fits(hit.range, in: file),
                file.regions.kind(at: hit.range.lowerBound) != .comment,
                !file.bytes.hasFolded(Array("incognito".utf8), at: hit.range.lowerBound - 2)
            else { continue }
            found.insert(evidence)
        }
        return found
    }

    private func finding(
        for hit: NeedleSet.Hit, in file: ScannedFile, path: String, _ evidence: Set<Signature.Evidence>
    ) -> Finding? {
        let signature = signatures[hit.needle]
        guard let rule = signature.rule, signature.fits(hit.range, in: file) else { return nil }
        let kind = file.regions.kind(at: hit.range.lowerBound)
        guard signature.applies(to: file, in: kind) else { return nil }
        if let needed = signature.needs, !evidence.contains(needed) { return nil }
        guard let match = SignatureMatch(signature, hit.range, kind, file, evidence) else { return nil }
        var finding = Finding(
            rule: rule, path: path, line: file.line(of: hit.range.lowerBound),
            column: file.column(of: hit.range.lowerBound), name: match.name,
            context: context(kind, file), replacement: match.replacement ?? rule.replacement(in: file.language))
        finding.lineHash = Fingerprint.hash(ofLineAt: hit.range.lowerBound, in: file, name: match.name)
        return finding
    }

    private func context(_ kind: RegionKind, _ file: ScannedFile) -> Finding.Context {
        if file.language == .document { return .document }
        return kind == .comment ? .comment : file.role.context
    }
}

/// The key for duplicates: one finding per rule and line; in binaries and lists of dependencies, one per name in code
/// and one in comments.
private struct SeenPlace: Hashable {
    let rule: Rule
    let line: Int?
    let name: [UInt8]
    let isComment: Bool

    init(_ finding: Finding, isLockFile: Bool) {
        rule = finding.rule
        let isByName = finding.line == nil || isLockFile && finding.rule == .cognitoDependency
        line = isByName ? nil : finding.line
        // Libraries contain the hosts of all regions.
        name = isByName && finding.rule != .cognitoHost ? Array(finding.name.utf8) : []
        isComment = isByName && finding.context == .comment
    }
}

extension Signature {
    /// Whether the bytes have the signature's case, and are whole words if required.
    func fits(_ range: Range<Int>, in file: ScannedFile) -> Bool {
        let bytes = file.bytes
        if hasExactCase, !bytes.has(text, at: range.lowerBound) { return false }
        if file.isPacked { return true }
        if startsWord, let before = bytes.byte(at: range.lowerBound - 1), isWord(before), !file.isLength(before, range)
        {
            return false
        }
        if endsWord, let after = bytes.byte(at: range.upperBound), isWord(after) { return false }
        return true
    }

    func applies(to file: ScannedFile, in kind: RegionKind) -> Bool {
        // Documents may mention anything; the distinction of code and strings does not apply to them.
        if file.language == .document {
            return file.role.isManifest ? files.contains(.manifests) : rule != .tokenStorage
        }
        if let languages, file.language != .binary, !languages.contains(file.language) { return false }
        guard !files.isDisjoint(with: file.kinds) else { return false }
        guard let place, kind != .comment, file.language != .binary else { return true }
        return place == kind
    }
}

extension ScannedFile {
    fileprivate var kinds: Signature.Files {
        if language == .binary { return role.isPropertyList ? [.binaries, .data] : .binaries }
        // A dependency list in a programming language is not code that ships.
        if role.isManifest { return [.manifests, .data] }
        return language.isProgram ? .programs : .data
    }
}
