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
    private static let deviceStep = "DEVICE_SRP_AUTH"

    /// Digests of the step in a response of Cognito's.
    ///
    /// - Parameter deviceKey: the device in the call.
    package func stepDigests(given output: JSONObject, deviceKey: String? = nil) -> [String] {
        let given = [output["Session"], output["ChallengeParameters"]?["SECRET_BLOCK"]]
            .compactMap { $0?.stringValue }.map(digest)
        let isOfDevice = (output["ChallengeName"]?.stringValue).hasSameBytes(as: Self.deviceStep)
        guard isOfDevice, let deviceKey else { return given }
        return given + [deviceDigest(deviceKey)]
    }

    /// Digests of the step that a call answers. Each spelling of a member counts, since whichever Cognito reads must be
    /// a known one.
    package func stepDigests(shown input: JSONObject) -> [String] {
        let responses = input["ChallengeResponses"]?.objectValue ?? [:]
        let shown =
            input.filter { $0.name.foldedCase.hasSameBytes(as: "session") }
            + responses.filter { $0.name.foldedCase.hasSameBytes(as: "password_claim_secret_block") }
        // A value of another kind is known to nobody.
        let digests = shown.map(\.value).filter { $0 != .null }.map { digest($0.stringValue ?? "") }
        // Older SDKs answer this step without its session.
        guard digests.isEmpty, (input["ChallengeName"]?.stringValue).hasSameBytes(as: Self.deviceStep),
            let deviceKey = responses["DEVICE_KEY"]?.stringValue
        else { return digests }
        return [deviceDigest(deviceKey)]
    }

    /// A digest of the step in which a device of the user's begins to prove itself. Cognito asks only for a device that
    /// is the user's, so that no other sign-in is found by it.
    private func deviceDigest(_ key: String) -> String {
        Base64URL.encode(SHA256.hash(Array("\(settings.poolID)\0device\0\(key)".utf8)))
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
