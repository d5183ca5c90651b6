import Testing

@testable import Encoding

@Suite("Normalization form C")
struct ComposedTextTests {
    static let cases: [(String, [UInt32])] = [
        ("ascii only", Array("ascii only".unicodeScalars.map(\.value))),
        ("e\u{301}", [0xE9]), ("\u{E9}", [0xE9]), ("\u{212B}", [0xC5]), ("A\u{30A}", [0xC5]),
        // Marks are brought in order: a dot below comes before a dot above.
        ("s\u{307}\u{323}", [0x1E69]), ("\u{1E9B}\u{323}", [0x1E9B, 0x323]),
        ("\u{1100}\u{1161}\u{11A8}", [0xAC01]),
        // One that is excluded from composition stays in two.
        ("\u{958}", [0x915, 0x93C]), ("न\u{940}", [0x928, 0x940]),
    ]

    @Test("Every spelling becomes the composed one", arguments: cases.indices)
    func composed(index: Int) {
        let (text, scalars) = Self.cases[index]
        #expect(text.composed.unicodeScalars.map(\.value) == scalars)
        #expect(text.composed.composed.hasSameBytes(as: text.composed))
    }
}
