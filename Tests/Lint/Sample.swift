// Uses that untrusted_text.py must find, and others that it must not: see test_untrusted_text.py. Not part of any
// target.

struct Sample: Equatable {
    var name: String
}

struct Unused: Equatable, Hashable {
    var name: String
}

enum Choice: String, CaseIterable {
    case one, two
}

// Found.

func equals(_ text: String) -> Bool { text == "x" }
func differs(_ text: String?) -> Bool { text != "x" }
func orders(_ texts: [String]) -> [String] { texts.sorted() }
func isLess(_ text: String) -> Bool { text < "x" }
func switches(_ text: String) -> Int {
    switch text {
    case "a": 1
    default: 0
    }
}
func isKey(_ text: String, _ table: [String: Int]) -> Int? { table[text] }
func isElement(_ text: String, _ set: Set<String>) -> Bool { set.contains(text) }
func isInArray(_ text: String, _ list: [String]) -> Bool { list.contains(text) }
func hashes(_ text: String) -> Int { text.hashValue }
func begins(_ text: String) -> Bool { text.hasPrefix("x") }
func ends(_ text: Substring) -> Bool { text.hasSuffix("x") }
func counts(_ text: String) -> Int { text.count }
func cuts(_ text: String) -> String { String(text.prefix(3)) }
func splits(_ text: String) -> [Substring] { text.split(separator: ",") }
func searches(_ text: String) -> Bool { text.contains("ab") }
func finds(_ text: String) -> String.Index? { text.firstIndex(of: "x") }
func folds(_ text: String) -> String { text.lowercased() }
func walks(_ text: String) -> Int {
    var newlines = 0
    for character in text where character.isNewline { newlines += 1 }
    return newlines
}
func drops(_ text: String) -> String {
    var text = text
    text.removeLast()
    return text
}
func chooses(_ text: String) -> Choice? { Choice(rawValue: text) }
func choosesAny<Value: RawRepresentable<String>>(_ text: String, _: Value.Type) -> Value? { Value(rawValue: text) }
func comparesSamples(_ one: Sample, _ other: Sample) -> Bool { one == other }
func comparesLists(_ one: [String], _ other: [String]) -> Bool { one == other }
func inClosure(_ texts: [String]) -> [String] { texts.filter { $0 == "x" } }

// Not found.

func equalsBytes(_ text: String) -> Bool { text.utf8.elementsEqual("x".utf8) }
func splitsBytes(_ text: String) -> [String] {
    text.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
}
func joins(_ text: String) -> String { "\(text), \(text.utf8.count) bytes" + text }
func joinsLists(_ texts: [String]) -> String { texts.joined(separator: ", ") }
func decodes(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
func scalars(_ text: String) -> Int { text.unicodeScalars.count }
func isEmpty(_ text: String) -> Bool { text.isEmpty }
func reads(_ text: String) -> Int? { Int(text) }
func isChoice(_ choice: Choice, _ set: Set<Choice>) -> Bool { set.contains(choice) }
