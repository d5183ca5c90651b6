import Pipeline
import SeededRandom
import Testing

/// Random targets from the pieces attacks are made of, held against a slow and independent reading.
@Suite("RequestPath under random targets")
struct RouteRequestPathFuzzTests {
    static let pieces = [
        "/", "/", "/", "a", "admin", ".", "..", "%2e", "%2E", "%2f", "%5c", "\\", ";", ";x=1", "%3b", "%25", "25", "2e",
        "%00", "%0a", "%", "%c0%ae", "%EF%BC%8F", "%C3%A9", "?", "#", "%23", "%3f", " ", "%20", "é", "b=c", "@", ":",
        "*",
    ]

    /// Percent-decoding as a careless reader does it; what it can't decode stays.
    static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let byte = UInt8(String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
            {
                result.append(byte)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    @Test(
        "An accepted path reads the same once, twice, and with its parameters dropped",
        arguments: 1...8 as ClosedRange<UInt64>)
    func acceptedIsUnambiguous(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<3_000 {
            let count = Int.random(in: 1...7, using: &generator)
            let target = "/" + (0..<count).map { _ in Self.pieces.randomElement(using: &generator) ?? "" }.joined()
            guard let parsed = try? RequestPath.parse(target) else { continue }
            accepted += 1
            let once = Self.decoded(String(target.prefix { $0 != "?" }))
            #expect(
                parsed.path == (once.count > 1 && once.hasSuffix("/") ? String(once.dropLast()) : once), "\(target)")
            #expect(Self.decoded(once) == once, "\(target)")
            let segments = once.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            for (position, segment) in segments.enumerated() {
                let bare = segment.prefix { $0 != ";" }
                let mayBeDots =
                    position > 0 && position == segments.count - 1 && !target.prefix { $0 != "?" }.contains("%")
                #expect(mayBeDots || (bare != "." && bare != ".."), "\(target)")
                #expect(!segment.contains("\\"), "\(target)")
                #expect(!bare.isEmpty || (segment.isEmpty && position == segments.count - 1), "\(target)")
            }
            #expect(
                once.unicodeScalars.allSatisfy { $0.value != 0 && $0.value != 0xFF0F && $0.value != 0xFFFD },
                "\(target)")
        }
        #expect(accepted > 100)
    }
}
