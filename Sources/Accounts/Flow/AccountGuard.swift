package import Encoding
package import Pipeline

/// Watches over account calls: limits before them, reports of them after.
///
/// `confirm` with a password is two calls: `confirm`, and the `login` after it.
package protocol AccountGuard: Sendable {
    /// Called before Cognito is asked, with what the request itself says: also for a token that is none or counts no
    /// more, and for a request that is malformed, of which nothing but the operation and its sender may be known.
    ///
    /// - Throws: what the client is told instead of being served; ``refused(_:_:)`` follows.
    func admit(_ call: AccountCall) async throws(Refusal) -> Admission

    /// Called between the two, before a password, a proof of one or a second factor is tried, when it is known which
    /// account the call is of, whatever it was named by.
    ///
    /// - Parameter username: Cognito's own name for the user; nil where only earlier calls can say.
    /// - Returns: for how many seconds the account is closed; nil where it is not.
    func identify(_ admission: inout Admission, as username: String?) async -> Int?

    /// Called when the answer is known and not sent yet.
    ///
    /// - Throws: what the client is told instead of a success, for one that must not count until others know of it.
    ///   Ignored for a call that was refused.
    func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal)

    /// As ``end(_:_:)``.
    ///
    /// - Returns: the user as the answer is to show them; nil where it stays as it is.
    func endShowingUser(
        _ admission: consuming Admission, _ outcome: AccountOutcome
    ) async throws(Refusal) -> JSONObject?

    /// The `sub` of the user whom earlier sign-ins have shown to have a name; none where nobody has. Several where the
    /// name, in any case, was several users'.
    func subjects(named name: String, poolID: String) async throws -> [String]

    /// Called when a refresh has shown whose session it is, so that ``subjects(named:poolID:)`` knows the user.
    func noteNames(of user: AccountUser, poolID: String) async

    /// Called for a call that was not admitted.
    func refused(_ call: AccountCall, _ outcome: AccountOutcome) async
}

extension AccountGuard {
    package func endShowingUser(
        _ admission: consuming Admission, _ outcome: AccountOutcome
    ) async throws(Refusal) -> JSONObject? {
        try await end(admission, outcome)
        return nil
    }

    package func subjects(named name: String, poolID: String) async throws -> [String] { [] }

    package func noteNames(of user: AccountUser, poolID: String) async {}
}

/// An account call that was let through. It ends once, with its outcome; dropped, it ends without one.
package struct Admission: ~Copyable, Sendable {
    /// With all that is known of the call by now.
    package var call: AccountCall
    var limited: AdmittedCall
    /// Nil where nothing is limited.
    private let limits: AccountLimits?
    private var isOpen = true

    /// Of a call that nothing limits.
    package init(_ call: AccountCall) { self.init(call, AdmittedCall(), nil) }

    init(_ call: AccountCall, _ limited: AdmittedCall, _ limits: AccountLimits?) {
        self.call = call
        self.limited = limited
        self.limits = limits
    }

    deinit { if isOpen { limits?.ended(limited) } }

    /// Counts a failure.
    ///
    /// - Returns: whether the account is locked by it.
    consuming func failed() async -> Bool {
        isOpen = false
        return await limits?.failed(limited) ?? false
    }

    /// The user has proven the password.
    ///
    /// - Parameter ownsNames: as of ``AccountLimits/succeeded(_:_:as:ownsNames:)``.
    consuming func proven(ownsNames: @Sendable () async -> Bool) async {
        isOpen = false
        await limits?.succeeded(limited, LimitedCall(call), ownsNames: ownsNames)
    }

    /// The user has signed in.
    ///
    /// - Parameters:
    ///   - account: the account itself, whatever it was called.
    ///   - ownsNames: as of ``AccountLimits/succeeded(_:_:as:ownsNames:)``.
    consuming func signedIn(as account: String, ownsNames: @Sendable () async -> Bool) async {
        isOpen = false
        await limits?.succeeded(limited, LimitedCall(call), as: account, ownsNames: ownsNames)
    }
}
