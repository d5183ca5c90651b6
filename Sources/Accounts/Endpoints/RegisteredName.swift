internal import Encoding
internal import Pipeline

/// The names in a registration: the user name for Cognito, and the addresses that are attributes.
struct RegisteredName: Sendable {
    /// nil if the gateway generates the user name.
    var username: AccountName?
    var attributes: [UserAttribute] = []

    /// The name that limits and the audit log use for the account: one that the caller has chosen.
    var account: String { username?.text ?? attributes.first?.value ?? "" }

    /// The address that a code is sent to, if the request has one.
    var address: String { attributes.first?.value ?? account }

    init(_ fields: inout RequestFields, _ settings: CognitoSignInSettings) {
        switch settings.registrationName {
        case .signInName:
            let name = fields.accountName(settings.nameFields, .email)
            username = name
            if name.field != .username { attributes = [UserAttribute(name: name.field.rawValue, value: name.text)] }
        case .username:
            let text = fields.requiredText(AccountName.Field.username.rawValue, atMost: 128, .username).composed
            username = AccountName(field: .username, text: text)
            attributes = Self.addresses(&fields)
        case .generated:
            attributes = Self.addresses(&fields)
            if attributes.isEmpty { fields.note("email", "is required, or phone_number") }
        }
        guard let username, username.field == .username else { return }
        // All later calls would treat such a name as another kind of name, or as unknown.
        let kind = AccountNameKind(username.text)
        guard kind.map(settings.acceptedNames.contains) != true else { return }
        switch kind {
        case .email: fields.note("username", "must not be an e-mail address")
        case .phoneNumber: fields.note("username", "must not be a telephone number")
        case nil: fields.note("username", "must not be a UUID")
        // The settings do not accept user names: the request has another error.
        case .username: break
        }
    }

    private static func addresses(_ fields: inout RequestFields) -> [UserAttribute] {
        let email = fields.optionalText("email", atMost: 128, .email)
        let phone = fields.optionalText("phone_number", atMost: 128, .phoneNumber)
        return [email.map { UserAttribute(name: "email", value: $0) }].compactMap { $0 }
            + [phone.map { UserAttribute(name: "phone_number", value: $0) }].compactMap { $0 }
    }
}
