internal import Cryptography
package import Encoding
internal import Pipeline

/// A sign-in that waits for its next step.
package struct SignInUnderWay: Sendable, Equatable {
    /// The name as typed when the sign-in began.
    @Exact package var account: String
    /// Cognito's internal names of the user, from its challenges so far.
    package var usernames: [ExactText] = []
    /// Whether a password was proven before the pending challenge.
    package var isPasswordProven = false

    package init(account: String) {
        self.account = account
    }

    /// Returns whether a step may be answered under this name: the typed one, or one of Cognito's internal names.
    package func goesUnder(_ name: String) -> Bool {
        name.foldedCase.hasSameBytes(as: account.foldedCase) || usernames.contains(ExactText(name))
    }
}

extension DirectCognitoPool {
    private static let deviceStep = "DEVICE_SRP_AUTH"

    /// Returns the digests of the step in a response of Cognito.
    ///
    /// - Parameter deviceKey: the key of the device in the call.
    package func stepDigests(given output: JSONObject, deviceKey: String? = nil) -> [String] {
        let given = [output["Session"], output["ChallengeParameters"]?["SECRET_BLOCK"]]
            .compactMap { $0?.stringValue }.map(digest)
        let isOfDevice = (output["ChallengeName"]?.stringValue).hasSameBytes(as: Self.deviceStep)
        guard isOfDevice, let deviceKey else { return given }
        return given + [deviceDigest(deviceKey)]
    }

    /// Returns the digests of the step that a call answers. Every spelling of a member counts, since Cognito may read
    /// any of them and each must belong to a known step.
    package func stepDigests(shown input: JSONObject) -> [String] {
        let responses = input["ChallengeResponses"]?.objectValue ?? [:]
        let shown =
            input.filter { $0.name.foldedCase.hasSameBytes(as: "session") }
            + responses.filter { $0.name.foldedCase.hasSameBytes(as: "password_claim_secret_block") }
        // A value that is not a string matches no known step.
        let digests = shown.map(\.value).filter { $0 != .null }.map { digest($0.stringValue ?? "") }
        // Older SDKs answer this step without its session.
        guard digests.isEmpty, (input["ChallengeName"]?.stringValue).hasSameBytes(as: Self.deviceStep),
            let deviceKey = responses["DEVICE_KEY"]?.stringValue
        else { return digests }
        return [deviceDigest(deviceKey)]
    }

    /// Returns a digest of the step in which a user's device begins its proof. Cognito requests the step only for a
    /// device of the same user, so the digest finds no other user's sign-in.
    private func deviceDigest(_ key: String) -> String {
        Base64URL.encode(SHA256.hash(Array("\(settings.poolID)\0device\0\(key)".utf8)))
    }

    /// Returns a digest of the characters that every Base64 decoder reads, strict or not. Otherwise another spelling of
    /// the same bytes would make a known step unknown. The digest omits other characters, padding, and the last
    /// character, which may have unused bits.
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
