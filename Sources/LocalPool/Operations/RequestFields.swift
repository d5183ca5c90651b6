internal import Encoding

/// The members of a request, with the types of Cognito's model.
struct RequestFields {
    let object: JSONObject

    /// The string called `name`.
    ///
    /// - Throws: InvalidParameterException if it is absent or its length in characters is not within 1 and `maximum`.
    func required(_ name: String, maximum: Int = .max) throws(PoolError) -> String {
        guard let value = try optional(name) else {
            throw Self.violation("Value null at '\(Self.modelName(name))'", "Member must not be null")
        }
        try Self.check(value, name, maximum: maximum)
        return value
    }

    /// The string called `name`, nil if it is absent or null.
    func optional(_ name: String) throws(PoolError) -> String? {
        guard let value = object[name], value != .null else { return nil }
        guard let text = value.stringValue else { throw .serialization }
        return text
    }

    /// The object called `name`; empty if it is absent.
    func structure(_ name: String) throws(PoolError) -> RequestFields {
        guard let value = object[name], value != .null else { return RequestFields(object: [:]) }
        guard let object = value.objectValue else { throw .serialization }
        return RequestFields(object: object)
    }

    /// The flag called `name`; false if it is absent.
    func flag(_ name: String) throws(PoolError) -> Bool {
        guard let value = object[name], value != .null else { return false }
        guard let flag = value.boolValue else { throw .serialization }
        return flag
    }

    /// The strings of the list called `name`; empty if it is absent.
    func strings(_ name: String) throws(PoolError) -> [String] {
        guard let value = object[name], value != .null else { return [] }
        guard let list = value.arrayValue, list.allSatisfy({ $0.stringValue != nil }) else { throw .serialization }
        return list.compactMap(\.stringValue)
    }

    /// The map of strings called `name`; empty if it is absent.
    func map(_ name: String) throws(PoolError) -> RequestFields {
        guard let value = object[name], value != .null else { return RequestFields(object: [:]) }
        guard let map = value.objectValue, map.allSatisfy({ $0.value.stringValue != nil }) else {
            throw .serialization
        }
        return RequestFields(object: map)
    }

    /// The list of `{Name, Value}` called `name`; empty if it is absent.
    func attributes(_ name: String) throws(PoolError) -> [(name: String, value: String)] {
        guard let value = object[name], value != .null else { return [] }
        guard let list = value.arrayValue else { throw .serialization }
        var result: [(name: String, value: String)] = []
        for element in list {
            guard let object = element.objectValue else { throw .serialization }
            let fields = RequestFields(object: object)
            result.append((try fields.required("Name", maximum: 32), try fields.optional("Value") ?? ""))
        }
        return result
    }

    /// The user name: letters, marks, symbols, numbers and punctuation of any script.
    func username() throws(PoolError) -> String {
        let username = try required("Username", maximum: 128)
        guard username.unicodeScalars.allSatisfy(Self.isOfUsernames) else {
            throw Self.violation(
                "Value at 'username'",
                "Member must satisfy regular expression pattern: [\\p{L}\\p{M}\\p{S}\\p{N}\\p{P}]+")
        }
        return username
    }

    private static func isOfUsernames(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }

    /// An authentication parameter, whose absence has its own message.
    func parameter(_ name: String, maximum: Int = .max) throws(PoolError) -> String {
        guard let value = try optional(name), !value.isEmpty else {
            throw .invalidParameter("Missing required parameter \(name)")
        }
        try Self.check(value, name.lowercased(), maximum: maximum)
        return value
    }

    private static func check(_ value: String, _ name: String, maximum: Int) throws(PoolError) {
        guard !value.isEmpty else {
            throw violation("Value at '\(modelName(name))'", "Member must have length greater than or equal to 1")
        }
        guard value.unicodeScalars.count <= maximum else {
            throw violation(
                "Value at '\(modelName(name))'", "Member must have length less than or equal to \(maximum)")
        }
    }

    static func violation(_ subject: String, _ rule: String) -> PoolError {
        .invalidParameter("1 validation error detected: \(subject) failed to satisfy constraint: \(rule)")
    }

    /// The member's name in Cognito's messages, with a lower-case first letter.
    private static func modelName(_ name: String) -> String {
        name.prefix(1).lowercased() + name.dropFirst()
    }
}
