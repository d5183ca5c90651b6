internal import Encoding
internal import Pipeline

/// The name by which a call identifies an account, and the field that contained it.
package struct AccountName: Sendable {
    /// The fields for such names.
    package enum Field: String, Sendable, CaseIterable {
        case email
        case phoneNumber = "phone_number"
        case username
    }

    package var field: Field
    package var text: String
}

extension RequestFields {
    /// Reads the name of a call's account from one of the fields `email`, `phone_number` and `username`.
    ///
    /// `email` accepts every kind of name, as it did before the other fields existed. A user name is normalized to form
    /// C, so that one name has one spelling.
    ///
    /// - Parameters:
    ///   - fields: the fields that are accepted besides `email`.
    ///   - grammar: of the field `email`.
    mutating func accountName(_ fields: [AccountName.Field], _ grammar: Grammar = .address) -> AccountName {
        let offered = [.email] + fields.filter { $0 != .email }
        let given = offered.filter { holdsValue($0.rawValue) }
        guard let field = given.first, given.count == 1 else {
            return faultyName(given, offered)
        }
        let text =
            switch field {
            case .email: requiredText(field.rawValue, atMost: 128, grammar)
            case .phoneNumber: requiredText(field.rawValue, atMost: 128, .phoneNumber)
            case .username: requiredText(field.rawValue, atMost: 128, .username).composed
            }
        return AccountName(field: field, text: text)
    }

    private mutating func faultyName(_ given: [AccountName.Field], _ offered: [AccountName.Field]) -> AccountName {
        let names = offered.map(\.rawValue).joined(separator: ", ")
        if given.isEmpty {
            note("email", offered.count == 1 ? "is required" : "is required, or another one of \(names)")
        } else {
            for field in given { note(field.rawValue, "only one of \(names) may be given") }
        }
        return AccountName(field: .email, text: "")
    }
}

extension CognitoSignInSettings {
    /// The fields for the names that users may sign in with.
    var nameFields: [AccountName.Field] {
        AccountName.Field.allCases.filter { field in
            switch field {
            case .email: acceptedNames.contains(.email)
            case .phoneNumber: acceptedNames.contains(.phoneNumber)
            case .username: acceptedNames.contains(.username)
            }
        }
    }

    /// The fields for names of accounts that may be unconfirmed: also the user name that a registration has returned.
    var registeredNameFields: [AccountName.Field] {
        registrationName == .generated ? nameFields.filter { $0 != .username } + [.username] : nameFields
    }
}
