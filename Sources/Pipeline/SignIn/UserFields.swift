package import Encoding

/// Further members of the `user` in responses, as an app's own model has them.
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

    /// The user with these members; one of the same name is replaced.
    ///
    /// - Parameter value: the user's attribute or claim of a name; nil where there is none.
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
    /// The value in this form; null for one that has none.
    package func value(of value: JSON) -> JSON {
        if case .null = value { return .null }
        switch self {
        case .text: return value.stringValue == nil ? Self.text(of: value).map(JSON.string) ?? .null : value
        case .number: return value.numberValue == nil ? parsed(value) { $0.numberValue != nil } : value
        case .boolean: return value.boolValue == nil ? parsed(value) { $0.boolValue != nil } : value
        case .json: return value.stringValue == nil ? value : parsed(value) { _ in true }
        }
    }

    private func parsed(_ value: JSON, _ fits: (JSON) -> Bool) -> JSON {
        guard let text = value.stringValue, let parsed = try? JSON.parse(Array(text.utf8)), fits(parsed) else {
            return .null
        }
        return parsed
    }

    private static func text(of value: JSON) -> String? {
        value.numberValue?.text ?? value.boolValue.map { $0 ? "true" : "false" }
    }
}
