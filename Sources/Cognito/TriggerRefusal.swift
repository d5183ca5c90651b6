internal import Encoding

/// A refusal by one of the pool's triggers, which Cognito reports as "PreSignUp failed with error <message>.".
package struct TriggerRefusal: Sendable {
    /// The trigger's name in Cognito's message, such as `PreSignUp`; empty if the message names none.
    package let trigger: String
    /// The trigger's own message as plain text: at most ``maximumLength`` characters, without control and invisible
    /// characters, `<` and `>`. nil if that leaves nothing.
    package let message: String?

    /// In Unicode scalars.
    static let maximumLength = 200
    private static let separator = Array(" failed with error ".utf8)

    package init(_ error: CognitoError) {
        let bytes = Array(error.message.utf8)
        guard let found = bytes.firstRange(of: Self.separator),
            bytes[..<found.lowerBound].allSatisfy(\.isASCIILetterOrDigit)
        else {
            (trigger, message) = ("", nil)
            return
        }
        trigger = String(decoding: bytes[..<found.lowerBound], as: UTF8.self)
        var text = bytes[found.upperBound...]
        // The full stop that Cognito appends.
        if text.last == UInt8(ascii: ".") { text = text.dropLast() }
        message = Self.plain(String(decoding: text, as: UTF8.self))
    }

    /// Whether the trigger runs only after a proven password or code.
    package var followsProof: Bool {
        ["PostAuthentication", "PostConfirmation", "PreTokenGeneration"].contains { trigger.begins(with: $0) }
    }

    private static func plain(_ text: String) -> String? {
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where plain.count < maximumLength {
            if scalar.properties.isWhitespace {
                if let last = plain.last, last != " " { plain.append(" ") }
            } else if isShown(scalar) {
                plain.append(scalar)
            }
        }
        if plain.last == " " { plain.removeLast() }
        return plain.isEmpty ? nil : String(plain)
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: false
        default: scalar != "<" && scalar != ">"
        }
    }
}
