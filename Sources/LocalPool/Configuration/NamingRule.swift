internal import Encoding

extension LocalPoolConfiguration {
    /// The rule for user names: Cognito's UsernameAttributes, AliasAttributes and UsernameConfiguration.
    package struct NamingRule: Sendable, Equatable {
        /// UsernameAttributes: users sign up with one of these, and their real user name is their `sub`. Empty in a
        /// pool whose users choose names.
        package var usernameAttributes = ["email"]
        /// AliasAttributes: users who chose a name may also sign in with these; addresses must be verified first.
        package var aliasAttributes: [String] = []
        /// Whether `Ada` and `ada` are different names.
        package var isCaseSensitive = false

        package init() {}

        package init(usernameAttributes: [String] = [], aliasAttributes: [String] = [], isCaseSensitive: Bool = false) {
            self.usernameAttributes = usernameAttributes
            self.aliasAttributes = aliasAttributes
            self.isCaseSensitive = isCaseSensitive
        }

        /// Whether users choose names.
        var hasUsernames: Bool { usernameAttributes.isEmpty }

        /// The rule as JSON, stored together with the names that follow from it.
        var json: JSON {
            [
                "username_attributes": .array(usernameAttributes.map(JSON.string)),
                "alias_attributes": .array(aliasAttributes.map(JSON.string)), "case_sensitive": .bool(isCaseSensitive),
            ]
        }

        init(_ json: JSON) {
            usernameAttributes = json["username_attributes"]?.strings ?? []
            aliasAttributes = json["alias_attributes"]?.strings ?? []
            isCaseSensitive = json["case_sensitive"]?.boolValue ?? false
        }
    }
}

extension LocalPoolConfiguration.NamingRule {
    /// A name by which a user can be found.
    struct Name: Sendable {
        /// The attribute that the name is from; nil for the real user name.
        var attribute: String?
        var text: String
    }

    /// The names of a user, other than the `sub`.
    func names(of user: UserRecord) -> [Name] {
        // Users of an identity provider sign in there. Their addresses may be the names of other users here.
        guard user.identity == nil else { return [Name(attribute: nil, text: user.username)] }
        var names: [Name] = []
        if hasUsernames { names.append(Name(attribute: nil, text: user.username)) }
        for attribute in usernameAttributes + aliasAttributes {
            let isUsable =
                switch attribute {
                case "email": !hasUsernames || user.isEmailVerified
                case "phone_number": !hasUsernames || user.isPhoneVerified
                default: true
                }
            let value = attribute == "email" ? user.email : user.attributes[attribute]?.stringValue ?? ""
            if isUsable, !value.isEmpty { names.append(Name(attribute: attribute, text: value)) }
        }
        return names
    }

    /// The attribute that a name given at sign-up is a value of; nil for a chosen name.
    ///
    /// - Throws: InvalidParameterException for a name that the pool does not accept.
    func attribute(named username: String) throws(PoolError) -> String? {
        let isEmail = EmailAddress.isPlausible(username)
        let isPhone = UserAttribute.isPhoneNumber(username)
        guard hasUsernames else {
            if usernameAttributes.contains("email"), isEmail { return "email" }
            if usernameAttributes.contains("phone_number"), isPhone { return "phone_number" }
            let forms = usernameAttributes.map { $0 == "email" ? "an email" : "a phone number" }
            throw .invalidParameter(
                "Username should be \(forms.count > 1 ? "either " : "")\(forms.joined(separator: " or ")).")
        }
        for (attribute, form, isOfForm) in [("email", "email", isEmail), ("phone_number", "phone number", isPhone)]
        where isOfForm && aliasAttributes.contains(attribute) {
            throw .invalidParameter(
                "Username cannot be of \(form) format, since user pool is configured for \(form) alias.")
        }
        return nil
    }
}
