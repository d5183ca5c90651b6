internal import Cryptography
package import Encoding
internal import Pipeline

/// A sign-in that waits for its next step, as it began.
package struct SignInUnderWay: Sendable, Equatable {
    /// As it was typed.
    @Exact package var account: String
    /// Cognito's own names for the user, as far as its challenges have said them.
    package var usernames: [ExactText] = []
    /// Whether a password was proven before the challenge that waits.
    package var isPasswordProven = false

    package init(account: String) {
        self.account = account
    }

    /// Whether a step may be answered under this name: the one that was typed, or one of Cognito's own.
    package func goesUnder(_ name: String) -> Bool {
        name.foldedCase.hasSameBytes(as: account.foldedCase) || usernames.contains(ExactText(name))
    }
}

extension DirectCognitoPool {
    /// Digests of the step in a response of Cognito's.
    package func stepDigests(given output: JSONObject) -> [String] {
        [output["Session"], output["ChallengeParameters"]?["SECRET_BLOCK"]].compactMap { $0?.stringValue }.map(digest)
    }

    /// Digests of the step that a call answers. Each spelling of a member counts, since whichever Cognito reads must be
    /// a known one.
    package func stepDigests(shown input: JSONObject) -> [String] {
        let responses = input["ChallengeResponses"]?.objectValue ?? [:]
        let shown =
            input.filter { $0.name.foldedCase.hasSameBytes(as: "session") }
            + responses.filter { $0.name.foldedCase.hasSameBytes(as: "password_claim_secret_block") }
        // A value of another kind is known to nobody.
        return shown.map(\.value).filter { $0 != .null }.map { digest($0.stringValue ?? "") }
    }

    /// A digest of the characters that every Base64 decoder reads, strict or not. With another spelling of the same
    /// bytes, a known step would otherwise be an unknown one. Other characters, padding and the last character, of
    /// which some bits may be unused, are left out.
    private func digest(_ text: String) -> String {
        let digits = text.utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "-"): UInt8(ascii: "-")
            case UInt8(ascii: "/"), UInt8(ascii: "_"): UInt8(ascii: "_")
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                byte
            default: nil
            }
        }
        return Base64URL.encode(SHA256.hash(Array("\(settings.poolID)\0".utf8) + digits.dropLast()))
    }
}
