/// The user name that a registration gives Cognito.
package enum RegistrationName: String, Sendable, CaseIterable {
    /// The user's sign-in name: for pools with UsernameAttributes, or with user names only.
    case signInName = "sign_in_name"
    /// A name that the user chooses, beside an e-mail address or a telephone number: for pools with AliasAttributes.
    case username
    /// A random name, beside an e-mail address or a telephone number: for pools with AliasAttributes whose users do not
    /// see their names.
    case generated

    /// Whether the name is a random one: 32 hexadecimal digits, so that none looks like a `sub`, an e-mail address or a
    /// telephone number.
    package static func isGenerated(_ name: String) -> Bool {
        name.utf8.count == 32
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }
}
