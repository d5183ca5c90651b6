internal import Encoding

/// The identity of a finding across changes of a file: a hash of its rule, path, name and line's text, and its index
/// among equal findings. It does not change when the line moves.
enum Fingerprint {
    /// Longer lines are generated code, which changes as a whole.
    private static let maximumLine = 1000

    static func hash(ofLineAt place: Int, in file: ScannedFile, name: String) -> UInt64 {
        let line = file.lineRange(of: place)
        guard file.language != .binary, line.count <= maximumLine else { return hash(name.utf8) }
        return hash(file.bytes[line].lazy.filter { !isSpace($0) })
    }

    /// Sets the fingerprints of the findings of one file.
    static func assign(to findings: [Finding]) -> [Finding] {
        var counts: [UInt64: Int] = [:]
        return findings.map { finding in
            let text = "\(finding.rule.rawValue)\n\(finding.path)\n\(finding.name)\n\(finding.lineHash)"
            let base = hash(text.utf8)
            let number = counts[base, default: 0]
            counts[base] = number + 1
            var finding = finding
            finding.fingerprint = Hexadecimal.encode(number == 0 ? base : hash("\(base)/\(number)".utf8))
            return finding
        }
    }

    /// FNV-1a with 64 bits. It need not be collision-resistant: a baseline's author is its reader.
    private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
