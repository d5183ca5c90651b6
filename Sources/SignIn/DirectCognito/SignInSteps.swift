internal import Cryptography
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

/// Whose the steps are that Cognito waits for, by digests of what it gave for them: a session, and for the proof of a
/// password a secret block. The name in an answer says nothing about that, since the client chooses it.
///
/// Held in memory for as long as Cognito takes an answer. The capacity is more than the default limits let begin in that
/// time, so that nobody pushes a step out.
package final class SignInSteps: Sendable {
    /// The longest that an app client can let a session live, in seconds.
    private static let lifetime: Int64 = 15 * 60
    private let table: Locked<ExpiringTable<SignInUnderWay>>
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    package init(capacity: Int = 100_000, now: @escaping @Sendable () -> Int64) {
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

    /// The sign-in that a step is of; nil unless all that it shows is of one account's sign-ins.
    ///
    /// - Parameter digests: of what the client shows for the step.
    func signIn(of digests: [String]) -> SignInUnderWay? {
        let now = now()
        let found = table.withLock { table in digests.compactMap { table.value(of: $0, at: now) } }
        guard var signIn = found.first, found.count == digests.count,
            found.allSatisfy({ $0.account.hasSameBytes(as: signIn.account) })
        else { return nil }
        signIn.isPasswordProven = found.allSatisfy(\.isPasswordProven)
        return signIn
    }
}

extension DirectCognitoPool {
    /// What stands for a step in an answer of Cognito's.
    func stepDigests(given output: JSONObject) -> [String] {
        [output["Session"], output["ChallengeParameters"]?["SECRET_BLOCK"]].compactMap { $0?.stringValue }.map(digest)
    }

    /// What stands for the step that a call answers. Each spelling of a member is looked at, since whichever Cognito reads
    /// must be one that is known.
    func stepDigests(shown input: JSONObject) -> [String] {
        let responses = input["ChallengeResponses"]?.objectValue ?? [:]
        let shown =
            input.filter { $0.name.foldedCase.hasSameBytes(as: "session") }
            + responses.filter { $0.name.foldedCase.hasSameBytes(as: "password_claim_secret_block") }
        // A value of another kind is known to nobody.
        return shown.map(\.value).filter { $0 != .null }.map { digest($0.stringValue ?? "") }
    }

    private func digest(_ text: String) -> String {
        Base64URL.encode(SHA256.hash(Array("\(poolID)\0\(text)".utf8)))
    }
}
