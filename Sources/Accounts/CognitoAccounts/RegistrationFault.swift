internal import Cognito
internal import Encoding
internal import Pipeline

/// Cognito's reason to refuse a registration, in a form for the caller and the operator. Cognito's message itself is
/// neither sent nor logged.
struct RegistrationFault: Sendable, Equatable {
    /// The request's fields and the error of each.
    var fields: [ExactText: String]
    /// The setting that determines it.
    var setting: String

    /// Returns nil for an error that is not about a field.
    ///
    /// - Parameters:
    ///   - names: the names that the request registers.
    ///   - hasAttributes: whether the request has other attributes.
    init?(_ error: CognitoError, _ names: RegisteredName, hasAttributes: Bool) {
        guard error.kind == .invalidParameter || error.kind == .badCredentials else { return nil }
        let message = error.message
        let text = message.asciiLowercased
        let name = names.username?.field ?? .username
        if text.holds("did not conform to the schema") {
            self.init(nonconforming: message, names)
        } else if text.holds("username cannot be of") {
            let form = text.holds("of email format") ? "an e-mail address" : "a telephone number"
            self.init(name.rawValue, "must not be \(form)", Self.nameSetting)
        } else if text.holds("username should be") {
            let forms = [("an email", "an e-mail address"), ("a phone number", "a telephone number")]
                .filter { text.holds($0.0) }.map(\.1)
            self.init(name.rawValue, "must be \(forms.joined(separator: " or "))", Self.nameSetting)
        } else if text.holds("preferred username cannot be provided") {
            self.init(
                "attributes.preferred_username", "cannot be set before the account is confirmed", Self.aliasSetting)
        } else if text.holds("invalid phone number") {
            self.init(
                names.field(of: "phone_number"), "must be a telephone number with a plus sign and the country code",
                Self.schemaSetting)
        } else if text.holds("invalid email address") {
            self.init(names.field(of: "email"), "must be an e-mail address", Self.schemaSetting)
        } else if text.holds("unauthorized attribute") {
            self.init("attributes", "has an attribute that cannot be set", Self.permissionSetting)
        } else if text.holds("at 'username'") {
            self.init(name.rawValue, "is not a user name that the pool takes", Self.nameSetting)
        } else if hasAttributes, error.kind == .invalidParameter, !text.holds("at 'password'") {
            self.init("attributes", "have a value that the pool does not take", Self.schemaSetting)
        } else {
            return nil
        }
    }

    private init(_ field: String, _ fault: String, _ setting: String) {
        fields = [ExactText(field): fault]
        self.setting = setting
    }

    private static let nameSetting =
        "sign_in.cognito.login_with and registration_name, or the user pool's UsernameAttributes and AliasAttributes"
    private static let aliasSetting = "the user pool's AliasAttributes"
    private static let schemaSetting =
        "the user pool's attributes and which of them are required, or sign_in.cognito.writable_attributes"
    private static let permissionSetting =
        "the app client's WriteAttributes, or sign_in.cognito.writable_attributes"
}

extension RegistrationFault {
    /// Reads the attributes from a message such as `Attributes did not conform to the schema: name.givenName: The
    /// attribute name.givenName is required`. The message's form has changed over the years.
    private init?(nonconforming message: String, _ names: RegisteredName) {
        fields = [:]
        setting = Self.schemaSetting
        var attribute: ExactText?
        var said: [ExactText: String] = [:]
        var before = ""
        for word in Self.words(of: message) {
            if let named = Self.attribute(in: word, after: before) {
                attribute = named
                said[named, default: ""] += ""
            } else if let attribute {
                said[attribute]? += " " + word.asciiLowercased
            }
            before = word.asciiLowercased
        }
        for (attribute, text) in said { fields[ExactText(names.field(of: attribute.text))] = Self.fault(text) }
        if fields.isEmpty { fields = ["attributes": "do not conform to the pool's schema"] }
    }

    /// Returns the first words of a message.
    private static func words(of message: String) -> [String] {
        message.utf8.split(maxSplits: 400) { $0 <= UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }
            .map { String(Substring($0)) }
    }

    private static func fault(_ text: String) -> String {
        if text.holds("required") { return "is required" }
        if text.holds("does not exist") || text.holds("could not be determined") || text.holds("not defined") {
            return "is not an attribute of the pool"
        }
        return "does not conform to the pool's schema"
    }

    /// Returns the attribute that a word names: before a colon, in braces, or after "attribute".
    private static func attribute(in word: String, after before: String) -> ExactText? {
        var name = word.utf8[...]
        let isMarked = name.first == UInt8(ascii: "{") || name.last == UInt8(ascii: ":")
        guard isMarked || before.hasSameBytes(as: "attribute") else { return nil }
        if name.first == UInt8(ascii: "{") { name.removeFirst() }
        while let last = name.last, [UInt8(ascii: "}"), UInt8(ascii: ":"), UInt8(ascii: ".")].contains(last) {
            name.removeLast()
        }
        return known(ExactText(String(decoding: name, as: UTF8.self)))
    }

    /// Returns Cognito's name of an attribute that a message names so, or by its SCIM name (RFC 7643, 4.1).
    private static func known(_ name: ExactText) -> ExactText? {
        if name.text.begins(with: "custom:"), (8...32).contains(name.text.utf8.count) { return name }
        return scimNames[name] ?? (standardNames.contains(name) ? name : nil)
    }

    private static let scimNames: [ExactText: ExactText] = [
        "addresses": "address", "emails": "email", "name.familyName": "family_name", "name.givenName": "given_name",
        "name.middleName": "middle_name", "name.formatted": "name", "nickName": "nickname",
        "phoneNumbers": "phone_number", "preferredUsername": "preferred_username",
    ]

    private static let standardNames: Set<ExactText> = [
        "address", "birthdate", "email", "family_name", "gender", "given_name", "locale", "middle_name", "name",
        "nickname", "phone_number", "picture", "preferred_username", "profile", "updated_at", "website", "zoneinfo",
    ]
}

extension RegisteredName {
    /// Returns the path of the request's field for an attribute.
    func field(of attribute: String) -> String {
        let isName = username.map { $0.field.rawValue.hasSameBytes(as: attribute) } ?? false
        let isAddress = attributes.contains { $0.name.hasSameBytes(as: attribute) }
        let hasField = ["name", "email"].contains(ExactText(attribute))
        return isName || isAddress || hasField ? attribute : "attributes.\(attribute)"
    }
}
