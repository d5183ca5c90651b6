import Testing

@testable import Encoding

@Suite("Text by its bytes")
struct ExactTextTests {
    /// Pairs that `String` takes for the same, and that are other bytes.
    static let equivalents = [("\u{e9}", "e\u{301}"), ("K", "\u{212a}"), ("a\u{334}\u{345}", "a\u{345}\u{334}")]

    @Test("Canonically equivalent texts are two keys", arguments: equivalents)
    func keys(one: String, other: String) {
        #expect(one == other || one == "K")
        #expect(ExactText(one) != ExactText(other))
        #expect(Set([ExactText(one), ExactText(other)]).count == 2)
        #expect(Exact(wrappedValue: one) != Exact(wrappedValue: other))
        #expect(Exact(wrappedValue: [one]) != Exact(wrappedValue: [other]))
        #expect(Exact(wrappedValue: Optional(one)) != Exact(wrappedValue: Optional(other)))
    }

    @Test("Texts that are the same are one key, whatever holds them")
    func sameness() {
        let copy = String(decoding: Array("a-longer-text-é".utf8), as: UTF8.self)
        #expect(
            ExactText(copy) == "a-longer-text-é" && ExactText(copy).hashValue == ExactText("a-longer-text-é").hashValue)
        #expect([ExactText(copy): 1]["a-longer-text-é"] == 1)
        #expect(ExactText("a") < "b" && ExactText("a") < "aa" && !(ExactText("b") < "a") && !(ExactText("a") < "a"))
        #expect(["b", "a", "ab"].exact.sortedTexts == ["a", "ab", "b"])
    }

    @Test("Beginnings, ends and parts")
    func parts() {
        let text = "custom:\u{e9}t\u{e9}"
        #expect(text.begins(with: "custom:") && text.begins(with: "") && text.begins(with: text))
        #expect(!text.begins(with: "Custom:") && !"cust".begins(with: "custom:"))
        #expect(
            text.ends(with: "t\u{e9}") && text.ends(with: "") && !text.ends(with: "e\u{301}") && !"a".ends(with: "ba"))
        #expect(text.holds("m:\u{e9}") && text.holds("") && !text.holds("x") && !"ab".holds("abc") && "aab".holds("ab"))
        // A mark behind it makes another character of the last letter, not another byte.
        #expect("custom:\u{301}".begins(with: "custom:") && "x\u{301}y".holds("x"))
        #expect("b".isOne(of: ["a", "b"]) && !"e\u{301}".isOne(of: ["\u{e9}"]) && !"b".isOne(of: [String]()))
    }

    @Test(
        "A cut is never within a scalar",
        arguments: [(0, ""), (1, "a"), (2, "a"), (3, "aé"), (6, "aé"), (7, "aé😀"), (9, "aé😀")])
    func cuts(limit: Int, expected: String) {
        #expect("aé😀".cut(toBytes: limit).hasSameBytes(as: expected))
    }

    @Test("Lower case is ASCII's")
    func lowerCase() {
        #expect("ABCxyz-\u{c9}\u{130}".asciiLowercased.hasSameBytes(as: "abcxyz-\u{c9}\u{130}"))
        #expect("[@`{az".asciiLowercased == "[@`{az")
    }

    @Test("A raw value is found by its bytes")
    func rawValues() {
        enum Drink: String, CaseIterable { case cafe = "caf\u{e9}", tea }
        #expect(
            Drink(exactly: "caf\u{e9}") == .cafe && Drink(exactly: "cafe\u{301}") == nil
                && Drink(exactly: "tea") == .tea)
        #expect(Drink(rawValue: "cafe\u{301}") == .cafe, "which is why")
    }
}
