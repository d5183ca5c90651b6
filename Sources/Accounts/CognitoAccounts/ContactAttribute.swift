internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// An address of a user that counts once a code has verified it.
protocol ContactAttribute: Sendable {
    /// Cognito's name of the attribute, which is also the request's field.
    static var attribute: String { get }
    static var change: AccountOperation { get }
    static var resend: AccountOperation { get }
    static var verify: AccountOperation { get }

    /// Reads the new address.
    static func read(_ fields: inout RequestFields) -> String
    /// Returns whether the address is the user's, and verified.
    static func isProven(_ address: String, of user: AccountUser) -> Bool
    /// Returns the destination of a code as shown to the client: the same whether one was sent or not.
    static func delivery(to address: String) -> CodeDelivery
}

enum EmailAttribute: ContactAttribute {
    static let attribute = "email"
    static let change = AccountOperation(
        "change-email", .post, "me/email", bearer: .required, budget: .messages
    ).askingPassword
    static let resend = AccountOperation(
        "resend-email-code", .post, "me/email/resend", bearer: .required, budget: .messages)
    static let verify = AccountOperation(
        "verify-email", .post, "me/email/verify", bearer: .required, budget: .codes, effect: .emailChanged,
        usualErrors: [.codeMismatch, .codeExpired])

    static func read(_ fields: inout RequestFields) -> String {
        fields.requiredText(attribute, atMost: 128, .email)
    }

    static func isProven(_ address: String, of user: AccountUser) -> Bool {
        user.emailVerified && user.email?.hasSameBytes(as: address) == true
    }

    static func delivery(to address: String) -> CodeDelivery {
        CodeDelivery(destination: CodeDelivery.mask(address), medium: "EMAIL")
    }
}

enum PhoneAttribute: ContactAttribute {
    static let attribute = "phone_number"
    static let change = AccountOperation(
        "change-phone", .post, "me/phone", bearer: .required, budget: .messages
    ).askingPassword
    static let resend = AccountOperation(
        "resend-phone-code", .post, "me/phone/resend", bearer: .required, budget: .messages)
    static let verify = AccountOperation(
        "verify-phone", .post, "me/phone/verify", bearer: .required, budget: .codes, effect: .phoneNumberChanged,
        usualErrors: [.codeMismatch, .codeExpired])

    static func read(_ fields: inout RequestFields) -> String {
        let number = fields.requiredText(attribute, atMost: 16, .address)
        if !number.isEmpty, !PhoneNumber.isWellFormed(number) { fields.refuse(attribute, PhoneNumber.rule) }
        return number
    }

    static func isProven(_ address: String, of user: AccountUser) -> Bool {
        user.attributes["phone_number_verified"] == true
            && user.attributes[attribute]?.stringValue?.hasSameBytes(as: address) == true
    }

    static func delivery(to address: String) -> CodeDelivery {
        CodeDelivery(destination: "+*******" + String(decoding: address.utf8.suffix(4), as: UTF8.self), medium: "SMS")
    }
}

/// Telephone numbers in the international form of E.164.
package enum PhoneNumber {
    package static let rule = "must be an international number like +4915112345678"

    /// Returns whether the text is a plus sign and 7 to 15 digits, the first not 0.
    package static func isWellFormed(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst()
        return text.utf8.first == UInt8(ascii: "+") && (7...15).contains(digits.count)
            && digits.first != UInt8(ascii: "0")
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
