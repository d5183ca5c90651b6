internal import Pipeline

/// Reads the fields of a JSON request and collects every fault, so that one answer names them all.
struct RequestFields {
    private let object: JSONObject
    private let prefix: String
    /// What is wrong, by the field's path.
    private(set) var faults: [String: String] = [:]

    /// - Parameter prefix: the path of the object itself, with a dot behind, for fields within fields.
    init(_ object: JSONObject, prefix: String = "") {
        self.object = object
        self.prefix = prefix
    }

    /// What a text must be like beside its length.
    enum Grammar {
        /// No control characters.
        case line
        /// No control characters and no white space.
        case word
    }

    /// A field that must be there. Gives an empty text for a faulty one.
    mutating func requiredText(_ name: String, atMost limit: Int, _ grammar: Grammar = .line) -> String {
        guard let value = present(name) else {
            faults[prefix + name] = "is required"
            return ""
        }
        let text = checkedText(value, name, atMost: limit, grammar)
        if text?.isEmpty == true { faults[prefix + name] = "must not be empty" }
        return text ?? ""
    }

    /// A field that may be missing, or null, which many JSON encoders write for missing.
    mutating func optionalText(_ name: String, atMost limit: Int, _ grammar: Grammar = .line) -> String? {
        present(name).flatMap { checkedText($0, name, atMost: limit, grammar) }
    }

    mutating func flag(_ name: String, default preset: Bool) -> Bool {
        guard let value = present(name) else { return preset }
        guard let flag = value.boolValue else {
            faults[prefix + name] = "must be true or false"
            return preset
        }
        return flag
    }

    /// The fields of an object that may be missing. Hand them back to ``take(_:)`` once they are read.
    mutating func optionalObject(_ name: String) -> RequestFields? {
        guard let value = present(name) else { return nil }
        guard let object = value.objectValue else {
            faults[prefix + name] = "must be an object"
            return nil
        }
        return RequestFields(object, prefix: "\(prefix)\(name).")
    }

    /// Takes over the faults of an inner object.
    mutating func take(_ inner: RequestFields) {
        faults.merge(inner.faults) { first, _ in first }
    }

    private func present(_ name: String) -> JSON? {
        guard let value = object[name], value != .null else { return nil }
        return value
    }

    private mutating func checkedText(_ value: JSON, _ name: String, atMost limit: Int, _ grammar: Grammar) -> String? {
        guard let text = value.stringValue else {
            faults[prefix + name] = "must be a string"
            return nil
        }
        if text.unicodeScalars.count > limit {
            faults[prefix + name] = "must be at most \(limit) characters"
        } else if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            faults[prefix + name] = "must not contain control characters"
        } else if grammar == .word, text.unicodeScalars.contains(where: \.properties.isWhitespace) {
            faults[prefix + name] = "must not contain spaces"
        }
        return text
    }
}
