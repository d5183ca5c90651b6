package import Encoding

/// Further members of the `user` in responses, to match an app's own model.
package struct UserFields: Sendable, Equatable {
    /// The type of a member's value. Attributes are text at Cognito.
    package enum Form: String, Sendable, CaseIterable {
        case text, number, boolean, json
    }

    package enum Source: Sendable, Equatable {
        /// The user's own attribute or claim of this name.
        case own(String)
        case constant(String)
    }

    package struct Field: Sendable, Equatable {
        @Exact package var name: String
        package var source: Source
        package var form: Form

        package init(name: String, source: Source, form: Form = .text) {
            self.name = name
            self.source = source
            self.form = form
        }
    }

    package var fields: [Field]

    package init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// Returns the user with these members, which replace existing ones of the same name.
    ///
    /// - Parameter value: returns the user's attribute or claim of a name; nil if there is none.
    package func added(to user: JSONObject, _ value: (String) -> JSON?) -> JSONObject {
        guard !fields.isEmpty else { return user }
        var user = user
        for field in fields {
            switch field.source {
            case .own(let name): user[field.name] = value(name).map(field.form.value) ?? .null
            case .constant(let text): user[field.name] = field.form.value(of: .string(text))
            }
        }
        return user
    }
}

extension UserFields.Form {
    /// Converts a value to this form; null if that is impossible.
    package func value(of value: JSON) -> JSON {
        switch self {
        case .text:
            if case .string = value { return value }
            return Self.text(of: value).map(JSON.string) ?? .null
        case .number:
            if case .number = value { return value }
            guard case .number(let number)? = Self.parsed(value) else { return .null }
            return .number(number)
        case .boolean:
            if case .bool = value { return value }
            guard case .bool(let flag)? = Self.parsed(value) else { return .null }
            return .bool(flag)
        case .json:
            guard case .string = value else { return value }
            return Self.parsed(value) ?? .null
        }
    }

    /// The JSON in a text; nil if the value is not text, or the text not JSON.
    private static func parsed(_ value: JSON) -> JSON? {
        guard let text = value.stringValue else { return nil }
        return try? JSON.parse(Array(text.utf8))
    }

    private static func text(of value: JSON) -> String? {
        value.numberValue?.text ?? value.boolValue.map { $0 ? "true" : "false" }
    }
}
