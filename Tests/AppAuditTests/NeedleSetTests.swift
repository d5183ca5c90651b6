import Testing

@testable import AppAudit

@Suite("Needles")
struct NeedleSetTests {
    private func hits(_ needles: [String], _ text: String) -> Set<String> {
        let set = NeedleSet(needles.map { Array($0.utf8) })
        let bytes = Array(text.utf8)
        return Set(set.hits(in: bytes.span).map { "\(needles[$0.needle])@\($0.range.lowerBound)" })
    }

    @Test("Needles inside others and across each other are all found")
    func overlaps() {
        #expect(hits(["he", "she", "his", "hers"], "ushers") == ["she@1", "he@2", "hers@2"])
        #expect(hits(["aa"], "aaaa") == ["aa@0", "aa@1", "aa@2"])
        #expect(hits(["abcd", "bc"], "abce") == ["bc@1"])
    }

    @Test("The case of ASCII letters does not count, and that of others does")
    func letterCase() {
        #expect(hits(["Auth."], "xAUTH.auth.") == ["Auth.@1", "Auth.@6"])
        #expect(hits(["[a]"], "{A}") == [])
    }

    @Test("The same hits are found as by a search for each needle")
    func oracle() {
        let needles = ["cognito-idp.", "cognito", "idp", "o-i", ".amazoncognito.com", "eu-west-1_", "1_"]
        let text = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc x.auth.amazoncognito.com CognitO-iDP"
        let bytes = Array(text.lowercased().utf8)
        var expected: Set<String> = []
        for needle in needles {
            for place in bytes.indices where bytes.has(Array(needle.utf8), at: place) {
                expected.insert("\(needle)@\(place)")
            }
        }
        #expect(hits(needles, text) == expected)
    }

    @Test("A file of hits alone does not take the memory")
    func bound() {
        let set = NeedleSet([Array("a".utf8)])
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 300_000)
        #expect(set.hits(in: bytes.span).count == NeedleSet.maximumHits)
    }
}
