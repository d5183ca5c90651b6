/// The pool's policy for new passwords.
struct PasswordPolicy: Sendable {
    let rule: LocalPoolConfiguration.PasswordRule

    /// The reason why the pool refuses this password; nil if it does not.
    func violation(_ password: String) -> String? {
        reason(password).map { "Password did not conform with policy: \($0)" }
    }

    /// - Throws: InvalidPasswordException if the pool refuses this password.
    func check(_ password: String) throws(PoolError) {
        if let violation = violation(password) {
            throw PoolError(type: "InvalidPasswordException", message: violation)
        }
    }

    private func reason(_ password: String) -> String? {
        func lacks(_ isWanted: Bool, _ character: (Unicode.Scalar) -> Bool) -> Bool {
            isWanted && !password.unicodeScalars.contains(where: character)
        }
        if password.unicodeScalars.contains(where: \.properties.isWhitespace) {
            return "Password must not contain whitespace"
        }
        if password.unicodeScalars.count < rule.minimumLength { return "Password not long enough" }
        if lacks(rule.requiresLowercase, { ("a"..."z").contains($0) }) {
            return "Password must have lowercase characters"
        }
        if lacks(rule.requiresUppercase, { ("A"..."Z").contains($0) }) {
            return "Password must have uppercase characters"
        }
        if lacks(rule.requiresNumbers, { ("0"..."9").contains($0) }) { return "Password must have numeric characters" }
        if lacks(rule.requiresSymbols, Self.isSymbol) { return "Password must have symbol characters" }
        return nil
    }

    /// Whether `scalar` is in Cognito's list of symbols: ASCII punctuation.
    private static func isSymbol(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII && scalar.value > 0x20 && scalar.value != 0x7F && !scalar.properties.isAlphabetic
            && scalar.properties.numericType == nil
    }
}
