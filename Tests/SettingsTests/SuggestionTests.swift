import Testing

@testable import Settings
@testable import SettingsReader

@Suite("Suggestions")
struct SuggestionTests {
    @Test(
        "The nearest name is suggested, if it is near",
        arguments: [
            ("requird", "required"), ("obtianal", "optional"), ("requierd", "required"), ("Public", "public"),
            ("optinal", "optional"),
            ("opt", "optional"), ("REQ", "required"), ("re", nil),
            ("none", nil), ("", nil), ("x", nil),
        ])
    func nearest(text: String, expected: String?) {
        #expect(suggestion(for: text, among: ["public", "optional", "required"]) == expected)
    }

    @Test("What several begin with means none of them")
    func prefixes() {
        #expect(suggestion(for: "client", among: ["client_identifier", "client_secret_file"]) == nil)
    }

    @Test(
        "Edits are counted",
        arguments: [
            ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "bc", 1), ("abc", "xbcd", 2),
        ])
    func distance(a: String, b: String, expected: Int) {
        #expect(editDistance(Array(a), Array(b)) == expected)
    }
}
