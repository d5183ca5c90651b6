internal import Cryptography
internal import Encoding
internal import Locking
internal import Pipeline

/// A sign-in that waits for its next step, as it began.
struct SignInUnderWay: Sendable, Equatable {
    /// As it was typed.
    @Exact var account: String
    /// Cognito's own names for the user, as far as its challenges have said them.
    var usernames: [ExactText] = []
    /// Whether a password was proven before the challenge that waits.
    var isPasswordProven = false

    /// Whether a step may be answered under this name: the one that was typed, or one of Cognito's own.
    func goesUnder(_ name: String) -> Bool {
        name.foldedCase.hasSameBytes(as: account.foldedCase) || usernames.contains(ExactText(name))
    }
}

/// The accounts of the steps that Cognito waits for, by digests of what it gave for them: a session, and for the proof of
/// a password a secret block. The name in an answer says nothing about that, since the client chooses it.
///
/// Held in memory for as long as Cognito takes an answer. The capacity is more than what Cognito gives for the 6000 steps a
/// minute that the default limits let through, so that nobody pushes a step out.
package final class SignInSteps: Sendable {
    /// The longest that an app client can let a session live, in seconds.
    private static let lifetime: Int64 = 15 * 60
    private let table: Locked<ExpiringTable<SignInUnderWay>>
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    package init(capacity: Int = 200_000, now: @escaping @Sendable () -> Int64) {
        table = Locked(ExpiringTable(capacity: capacity))
        self.now = now
    }

    /// - Parameter digests: of what Cognito gave for the step.
    func note(_ signIn: SignInUnderWay, by digests: [String]) {
        let now = now()
        table.withLock { table in
            for digest in digests { table.set(signIn, of: digest, endsAt: now + Self.lifetime, at: now) }
        }
    }

    /// The account of a step.
    enum Finding: Equatable {
        case known(SignInUnderWay)
        /// It began elsewhere: nothing that it shows is known here.
        case unknown
        /// It shows what is of several accounts, or something unknown beside what is known. No client does so by itself.
        case contradictory
    }

    /// - Parameter digests: of what the client shows for the step.
    func find(_ digests: [String]) -> Finding {
        let now = now()
        let found = table.withLock { table in digests.compactMap { table.value(of: $0, at: now) } }
        guard var signIn = found.first else { return .unknown }
        guard found.count == digests.count, found.allSatisfy({ $0.account.hasSameBytes(as: signIn.account) }) else {
            return .contradictory
        }
        signIn.isPasswordProven = found.allSatisfy(\.isPasswordProven)
        return .known(signIn)
    }
}

extension DirectCognitoPool {
    /// Digests of the step in a response of Cognito's.
    func stepDigests(given output: JSONObject) -> [String] {
        [output["Session"], output["ChallengeParameters"]?["SECRET_BLOCK"]].compactMap { $0?.stringValue }.map(digest)
    }

    /// Digests of the step that a call answers. Each spelling of a member counts, since whichever Cognito reads must be
    /// a known one.
    func stepDigests(shown input: JSONObject) -> [String] {
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
        return Base64URL.encode(SHA256.hash(Array("\(poolID)\0".utf8) + digits.dropLast()))
    }
}
