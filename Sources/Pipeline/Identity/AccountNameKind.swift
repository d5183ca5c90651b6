/// The kind of a name with which a user signs in to a Cognito user pool, judged by its form alone.
package enum AccountNameKind: String, Sendable, CaseIterable {
    /// A single `@` with text on both sides.
    case email
    /// E.164: a plus sign and up to 15 digits.
    case phoneNumber = "phone_number"
    /// Anything else.
    case username

    /// Nil for a UUID: Cognito also accepts every user's `sub` as a name, but nobody types it.
    package init?(_ name: String) {
        let bytes = name.utf8
        if Self.isUUID(bytes) { return nil }
        self = Self.isEmail(bytes) ? .email : Self.isPhoneNumber(bytes) ? .phoneNumber : .username
    }

    private static func isEmail(_ bytes: String.UTF8View) -> Bool {
        let at = UInt8(ascii: "@")
        return bytes.count(where: { $0 == at }) == 1 && bytes.first != at && bytes.last != at
    }

    private static func isPhoneNumber(_ bytes: String.UTF8View) -> Bool {
        bytes.first == UInt8(ascii: "+") && (2...15).contains(bytes.count - 1)
            && bytes.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// RFC 9562, 4: 32 hex digits in five groups.
    private static func isUUID(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            if [8, 13, 18, 23].contains(index) { return byte == UInt8(ascii: "-") }
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                return true
            default: return false
            }
        }
    }
}
