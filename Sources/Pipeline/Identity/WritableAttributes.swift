internal import Encoding

/// The attributes of a Cognito user that the user may set through the gateway.
///
/// Attributes that decide about access must not be among them: users could grant themselves access.
package struct WritableAttributes: Sendable, Equatable {
    /// By Cognito's names, such as `given_name` or `custom:theme`.
    package let names: [String]

    package init(_ names: [String]) {
        self.names = names
    }

    /// The attributes that describe a person. `preferred_username` is left out, since pools can accept it as a sign-in
    /// name. So are all custom attributes, since only their pool knows their meaning.
    package static let standard = WritableAttributes([
        "name", "given_name", "family_name", "middle_name", "nickname", "locale", "zoneinfo", "picture", "website",
        "profile", "phone_number", "birthdate", "gender", "address",
    ])

    /// Whether the user may set the attribute of this name. Names are compared byte for byte.
    package func contains(_ name: String) -> Bool {
        names.contains { $0.hasSameBytes(as: name) }
    }

    /// Whether an operator may let users set an attribute of this name: one of ``standard``, `email`,
    /// `preferred_username`, or a custom one. Cognito itself controls the others.
    package static func canHold(_ name: String) -> Bool {
        if name.utf8.starts(with: "custom:".utf8) {
            let rest = name.utf8.dropFirst(7)
            return (1...20).contains(rest.count)
                && rest.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        return standard.contains(name) || name == "email" || name == "preferred_username"
    }
}
