/// Cognito's rules for names of user attributes.
enum UserAttribute {
    private static let standard: Set<String> = [
        "address", "birthdate", "email", "family_name", "gender", "given_name", "locale", "middle_name", "name",
        "nickname", "phone_number", "picture", "preferred_username", "profile", "updated_at", "website", "zoneinfo",
    ]

    /// Cognito's standard attributes, in order.
    static var standardNames: [String] { standard.sorted() }

    /// The attributes that only the pool sets.
    private static let managed: Set<String> = [
        "sub", "email_verified", "phone_number_verified", "identities", "cognito:user_status",
    ]

    /// Whether a schema can have an attribute of this name.
    static func isKnown(_ name: String) -> Bool {
        standard.contains(name) || isManaged(name) || (name.hasPrefix("custom:") && name.count > "custom:".count)
    }

    /// Checks whether a client may write this value.
    ///
    /// - Throws: the error if it may not.
    static func check(_ name: String, _ value: String) throws(PoolError) {
        guard isKnown(name) else {
            throw .invalidParameter(
                "Attributes did not conform to the schema: Type for attribute {\(name)} could not be determined")
        }
        guard !isManaged(name) else {
            throw .unauthorizedAttribute
        }
        guard value.unicodeScalars.count <= 2048 else {
            throw RequestFields.violation(
                "Value at 'userAttributes'", "Member must have length less than or equal to 2048")
        }
        if name == "phone_number", !value.isEmpty, !isPhoneNumber(value) {
            throw .invalidParameter("Invalid phone number format.")
        }
    }

    /// Whether `text` is a plus sign followed by 2 to 15 digits (E.164).
    static func isPhoneNumber(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (2...15).contains(digits.count)
            && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether a client may write the attribute.
    static func isWritable(_ name: String) -> Bool { isKnown(name) && !isManaged(name) }

    static func isManaged(_ name: String) -> Bool { managed.contains(name) }
}

/// The format of an e-mail address in a user name.
enum EmailAddress {
    /// Whether `text` has one `@`, a part before it, a dotted name after it, and no spaces or control characters.
    static func isPlausible(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return false }
        let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, labels.allSatisfy({ !$0.isEmpty }) else { return false }
        return text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && !$0.properties.isWhitespace }
    }

    /// The address as Cognito shows it in CodeDeliveryDetails: `a***@e***`.
    static func masked(_ address: String) -> String {
        address.split(separator: "@").map { "\($0.prefix(1))***" }.joined(separator: "@")
    }
}
