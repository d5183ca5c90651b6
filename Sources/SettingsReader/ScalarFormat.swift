/// The reason why a value does not have its key's format.
package struct ScalarRefusal: Error {
    /// Such as `must be a duration like 250ms, 5s, 10m, 24h or 30d`.
    var message: String
    /// The value that was probably meant.
    var suggestion: String?

    package init(_ message: String, suggestion: String? = nil) {
        self.message = message
        self.suggestion = suggestion
    }
}

/// The conversion of a scalar's text into a value.
package struct ScalarFormat<Value> {
    /// The format's description for editors.
    package let schema: ScalarSchema
    /// All possible values, if they are few and other keys depend on them; otherwise empty.
    let choices: [Value]
    /// The text that a file would have for a value; nil if there is no single one.
    package let show: (Value) -> String?
    package let read: (String) throws(ScalarRefusal) -> Value

    package init(
        schema: ScalarSchema = .text, choices: [Value] = [], show: @escaping (Value) -> String? = { _ in nil },
        _ read: @escaping (String) throws(ScalarRefusal) -> Value
    ) {
        self.schema = schema
        self.choices = choices
        self.show = show
        self.read = read
    }
}

extension ScalarFormat where Value == Bool {
    /// `true` or `false` only: YAML parsers disagree about `yes`, `on` and `off`.
    package static var boolean: Self {
        Self(schema: ScalarSchema(.boolean), choices: [true, false], show: { String($0) }) {
            (text) throws(ScalarRefusal) in
            switch text {
            case "true": return true
            case "false": return false
            default: throw ScalarRefusal("must be true or false")
            }
        }
    }
}

extension ScalarFormat where Value == Int {
    /// A whole number in decimal digits.
    package static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(schema: ScalarSchema(.integer(range)), show: { String($0) }) { (text) throws(ScalarRefusal) in
            guard let first = text.utf8.first, first != UInt8(ascii: "+"), let value = Int(text), range.contains(value)
            else {
                throw ScalarRefusal("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }
    }
}

extension ScalarFormat where Value == String {
    /// Non-empty text without control characters, and without a space at its beginning or end.
    package static var text: Self {
        Self(show: { $0 }) { (text) throws(ScalarRefusal) in
            guard !text.isEmpty else { throw ScalarRefusal("must not be empty") }
            guard printable(text) == text, text.first?.isWhitespace == false, text.last?.isWhitespace == false else {
                throw ScalarRefusal("must not hold control characters, nor begin or end with a space")
            }
            return text
        }
    }

    /// An identifier that another party chose: 1 to 256 visible ASCII characters without spaces.
    package static var identifier: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...256).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ScalarRefusal("must be 1 to 256 visible ASCII characters without spaces")
            }
            return text
        }
    }

    /// The name of another entry of the file.
    package static func reference(to kind: String, among names: [String]) -> Self {
        Self { (text) throws(ScalarRefusal) in
            guard names.contains(text) else {
                throw ScalarRefusal("names no \(kind)", suggestion: suggestion(for: text, among: names))
            }
            return text
        }
    }

    /// One of a closed list of words.
    package static func word(among words: [String]) -> Self {
        let schema = ScalarSchema(.words(words))
        return Self(schema: schema, choices: words, show: { $0 }) { (text) throws(ScalarRefusal) in
            guard words.contains(text) else {
                throw ScalarRefusal(
                    (words.count == 1 ? "must be " : "must be one of ") + words.joined(separator: ", "),
                    suggestion: suggestion(for: text, among: words))
            }
            return text
        }
    }
}

extension ScalarFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of an enumeration's raw values.
    package static var oneOf: Self {
        let words = ScalarFormat<String>.word(among: Value.allCases.map(\.rawValue))
        return Self(
            schema: words.schema, choices: Array(Value.allCases), show: { $0.rawValue }
        ) { (text) throws(ScalarRefusal) in
            guard let value = Value(rawValue: try words.read(text)) else { throw ScalarRefusal("is not known") }
            return value
        }
    }
}
