import FoundationEssentials
import Testing

@testable import Settings
@testable import SettingsReader

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers at each run.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

@Suite("Mangled settings")
struct MangledSettingsTests {
    private static let fragments = [
        "[", "]", "{", "}", ":", "- ", "&a ", "*a", "? ", "\"", "'", "|", ">", "!!int ", "~", "<<: *a", "${", "\n",
        "\t",
        "  ", "%", "@", "é", "\u{E000}", "\\", ", ", "---\n", "...", "\u{7}", "\u{202E}",
    ]

    @Test("A mangled file is read or refused, without a secret or a control character", arguments: 1...8)
    func mangled(seed: Int) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Config/gatehouse.yaml").path
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { !$0.drop { $0 == " " }.hasPrefix("#") }
        var generator = SeededGenerator(state: UInt64(seed))
        for _ in 0..<60 {
            let yaml = Self.mangle(lines, using: &generator)
            let found = errors(yaml, environment: ["COGNITO_CLIENT_SECRET": "hunter2"])
            #expect(!found.contains { $0.contains("hunter2") }, "\(yaml)")
            #expect(found.allSatisfy { printable($0) == $0 }, "\(yaml)")
        }
    }

    private static func mangle(_ lines: [String], using generator: inout SeededGenerator) -> String {
        var lines = lines
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let index = Int.random(in: 0..<lines.count, using: &generator)
            let other = Int.random(in: 0..<lines.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: lines.remove(at: index)
            case 1: lines.insert(lines[other], at: index)
            case 2: lines.swapAt(index, other)
            case 3: lines[index] = "  " + lines[index]
            case 4: lines[index] = String(lines[index].dropFirst(2))
            default:
                var line = Array(lines[index])
                let place = Int.random(in: 0...line.count, using: &generator)
                line.insert(contentsOf: fragments.randomElement(using: &generator) ?? "", at: place)
                lines[index] = String(line)
            }
        }
        return lines.joined(separator: "\n")
    }
}
