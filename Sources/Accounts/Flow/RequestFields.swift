package import Encoding
package import Pipeline

/// Reads the fields of a JSON request and collects every error, so that one response names them all.
package struct RequestFields {
    private let object: JSONObject
    private let prefix: String
    /// Errors by the field's path.
    private(set) var errors: [ExactText: String] = [:]

    /// - Parameter prefix: the path of the object itself with a trailing dot, for nested fields.
    package init(_ object: JSONObject, prefix: String = "") {
        self.object = object
        self.prefix = prefix
    }

    /// Reads a required field. Returns an empty text for an invalid one.
    package mutating func requiredText(_ name: String, atMost limit: Int, _ grammar: Grammar = .line) -> String {
        guard let value = present(name) else {
            errors[path(of: name)] = "is required"
            return ""
        }
        let text = checkedText(value, name, atMost: limit, grammar)
        if text?.isEmpty == true { errors[path(of: name)] = "must not be empty" }
        return text ?? ""
    }

    /// Reads an optional field; nil if it is missing or null, which many JSON encoders write for missing.
    package mutating func optionalText(_ name: String, atMost limit: Int, _ grammar: Grammar = .line) -> String? {
        present(name).flatMap { checkedText($0, name, atMost: limit, grammar) }
    }

    /// Reads an optional field that must not be empty; nil if it is missing or null.
    mutating func optionalFilledText(_ name: String, atMost limit: Int, _ grammar: Grammar = .line) -> String? {
        holdsValue(name) ? requiredText(name, atMost: limit, grammar) : nil
    }

    /// Reads a required field with one of a type's raw values; nil for an invalid one.
    mutating func oneOf<Value>(_ name: String, _ type: Value.Type) -> Value?
    where Value: RawRepresentable<String> & CaseIterable {
        let text = requiredText(name, atMost: 64)
        guard !errors.keys.contains(path(of: name)) else { return nil }
        let value = Value(exactly: text)
        if value == nil {
            errors[path(of: name)] = "must be one of " + Value.allCases.map(\.rawValue).joined(separator: ", ")
        }
        return value
    }

    /// Returns whether the field is present, possibly null.
    func mentions(_ name: String) -> Bool { object[name] != nil }

    /// Reads an optional list of texts; nil if it is missing or invalid.
    mutating func list(_ name: String) -> [String]? {
        guard let value = present(name) else { return nil }
        let elements = value.arrayValue
        let texts = elements?.compactMap(\.stringValue) ?? []
        guard let elements, elements.count <= 64, texts.count == elements.count else {
            errors[path(of: name)] = "must be a list of strings"
            return nil
        }
        return texts
    }

    package mutating func flag(_ name: String, default preset: Bool) -> Bool {
        guard let value = present(name) else { return preset }
        guard let flag = value.boolValue else {
            errors[path(of: name)] = "must be true or false"
            return preset
        }
        return flag
    }

    /// Reads `device_info`; nil if it is missing or has no member with a value.
    package mutating func device() -> DeviceInfo? {
        guard var inner = optionalObject("device_info") else { return nil }
        let device = DeviceInfo(&inner)
        take(inner)
        return device.isEmpty ? nil : device
    }

    /// Reads the first of these fields that has a value, of at most 256 characters. Apps write versions as numbers, and
    /// unknown values as null, as an empty text or as an empty object (an unawaited promise).
    mutating func description(_ names: [String]) -> String? {
        for (number, name) in names.enumerated() {
            guard let value = present(name) else { continue }
            switch value {
            case .string(let text) where text.isEmpty: continue
            case .object(let object) where object.isEmpty: continue
            case .number(let written): return checkedText(.string(written.text), name, atMost: 256, .line)
            case .string: return checkedText(value, name, atMost: 256, .line)
            // Only the API's own name has a known type.
            default: if number == 0 { return checkedText(value, name, atMost: 256, .line) }
            }
        }
        return nil
    }

    /// Returns the fields of an optional object. Pass them to ``take(_:)`` once they are read.
    mutating func optionalObject(_ name: String) -> RequestFields? {
        guard let value = present(name) else { return nil }
        guard let object = value.objectValue else {
            errors[path(of: name)] = "must be an object"
            return nil
        }
        return RequestFields(object, prefix: "\(prefix)\(name).")
    }

    /// Reads a required object and returns it unchanged; nil for an invalid one.
    mutating func requiredObject(_ name: String) -> JSONObject? {
        guard let value = present(name) else {
            errors[path(of: name)] = "is required"
            return nil
        }
        if value.objectValue == nil { errors[path(of: name)] = "must be an object" }
        return value.objectValue
    }

    /// Adds the errors of an inner object.
    mutating func take(_ inner: RequestFields) {
        errors.merge(inner.errors) { first, _ in first }
    }

    /// The number of fields.
    var count: Int { object.count }

    /// The names of all fields.
    var names: [String] { object.map(\.name) }

    /// Adds an error of a field, if it is present.
    package mutating func refuse(_ name: String, _ message: String) {
        if object[name] != nil { errors[path(of: name)] = message }
    }

    /// Returns whether the field is present and not null.
    func holdsValue(_ name: String) -> Bool { present(name) != nil }

    /// Adds an error of a field, whether or not it is present.
    mutating func note(_ name: String, _ message: String) { errors[path(of: name)] = message }

    /// Adds an error of the object itself.
    mutating func refuseWhole(_ message: String) {
        errors[ExactText(String(decoding: prefix.utf8.dropLast(), as: UTF8.self))] = message
    }

    /// Checks whether all fields are valid.
    ///
    /// - Throws: a 422 with every invalid field.
    package func check() throws(Refusal) {
        guard errors.isEmpty else { throw Refusal(.invalidParameter, fields: errors, reason: .account(.invalidFields)) }
    }

    /// Returns the path that names a field in errors. A long name is cut, since the response repeats it.
    private func path(of name: String) -> ExactText { ExactText(prefix + name.cut(toBytes: 128)) }

    private func present(_ name: String) -> JSON? {
        guard let value = object[name], value != .null else { return nil }
        return value
    }

    private mutating func checkedText(_ value: JSON, _ name: String, atMost limit: Int, _ grammar: Grammar) -> String? {
        guard let text = value.stringValue else {
            errors[path(of: name)] = "must be a string"
            return nil
        }
        errors[path(of: name)] = grammar.error(of: text, atMost: limit)
        return text
    }
}

/// The permitted characters and form of a request's text.
package enum Grammar {
    /// No control characters, and no invisible ones such as those that change the direction of text.
    case line
    /// As ``line``, and nothing that a page could interpret as markup.
    case name
    /// No control characters. All other characters may be in a password.
    case password
    /// Visible ASCII, for the names of accounts. Letters that only look alike would name another account.
    case address
    /// An address with text on both sides of one "@".
    case email
    /// E.164: a plus sign and 2 to 15 digits.
    case phoneNumber
    /// Letters, marks, symbols, numbers and punctuation of any script, as Cognito accepts in user names. No spaces, and
    /// no invisible characters.
    case username
    /// ASCII letters, digits, "-" and "_". Codes contain no digits of other scripts.
    case code

    /// Returns the error in a text; nil if there is none.
    package func error(of text: String, atMost limit: Int) -> String? {
        guard text.utf8.count <= limit || text.unicodeScalars.count <= limit else {
            return "must be at most \(limit) characters"
        }
        // ASCII, such as tokens, needs no lookup in Unicode's tables: its only control characters are these, and it has
        // no format characters.
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let holdsControls =
            isASCII
            ? text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            : text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        guard !holdsControls else { return "must not contain control characters" }
        let isPlain = isASCII || !text.unicodeScalars.contains(where: Self.isInvisible)
        switch self {
        case .password: return nil
        case .line: return isPlain ? nil : "must be plain text"
        case .name:
            if text.utf8.contains(where: Self.isMarkup) { return "must not contain < or >" }
            return isPlain ? nil : "must be plain text"
        case .address: return Self.addressError(of: text)
        case .email: return Self.addressError(of: text) ?? (Self.isEmail(text) ? nil : "must be an e-mail address")
        case .phoneNumber:
            return AccountNameKind(text) == .phoneNumber || text.isEmpty
                ? nil : "must be a telephone number, such as +15551234567"
        case .username:
            return text.unicodeScalars.allSatisfy(Self.isOfUsernames)
                ? nil : "must be letters, digits, punctuation and symbols"
        case .code: return text.utf8.allSatisfy(Self.isCodeByte) ? nil : "must be ASCII letters and digits"
        }
    }

    private static func addressError(of text: String) -> String? {
        if text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return nil }
        return text.unicodeScalars.contains(where: \.properties.isWhitespace)
            ? "must not contain spaces" : "must be ASCII"
    }

    /// Returns whether the character matches Cognito's `[\p{L}\p{M}\p{S}\p{N}\p{P}]+`.
    private static func isOfUsernames(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }

    private static func isEmail(_ text: String) -> Bool {
        // An empty text has an error of its own.
        guard !text.isEmpty else { return true }
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
    }

    /// Returns whether the character begins or ends an HTML tag. Other characters with a meaning in pages occur in
    /// people's names.
    package static func isMarkup(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") }

    private static func isCodeByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Returns whether the character is invisible: format characters, except the two joiners that scripts and emoji
    /// need; line and paragraph separators; unassigned and private characters.
    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        case .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: true
        default: false
        }
    }
}
