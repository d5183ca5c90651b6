package import Encoding
package import Pipeline

/// The guard of account calls: applies limits before them, and reports them afterwards.
///
/// `confirm` with a password is two calls: `confirm`, and the `login` after it.
package protocol AccountGuard: Sendable {
    /// Admits a call before Cognito is called, with the facts in the request itself. It is also called for an invalid
    /// or expired token, and for a malformed request, of which only the operation and the sender may be known.
    ///
    /// - Throws: the refusal for the client; ``refused(_:_:)`` follows.
    func admit(_ call: AccountCall) async throws(Refusal) -> Admission

    /// Called between `admit` and `end`, before a password, a proof of one or a second factor is tried, once the call's
    /// account is known, whatever name the call has.
    ///
    /// - Parameter username: Cognito's internal name of the user; nil if only earlier calls can show the account.
    /// - Returns: the seconds for which the account is locked; nil if it is not.
    func identify(_ admission: inout Admission, as username: String?) async -> Int?

    /// Called when the response is known and not sent yet.
    ///
    /// - Throws: the refusal that replaces a success, if others must know of the success before it may count. Ignored
    ///   for a call that was refused.
    func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal)

    /// As ``end(_:_:)``.
    ///
    /// - Returns: the user for the response; nil if the response does not change.
    func endShowingUser(
        _ admission: consuming Admission, _ outcome: AccountOutcome
    ) async throws(Refusal) -> JSONObject?

    /// Returns the `sub` of each user whom earlier sign-ins have shown under a name, in any letter case; empty if there
    /// is none. Several users can have had the same name.
    func subjects(named name: String, poolID: String) async throws -> [String]

    /// Called when a refresh has shown the user of its session, so that ``subjects(named:poolID:)`` knows the user.
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

/// An account call that was admitted. It ends once, with its outcome; if it is dropped, without one.
package struct Admission: ~Copyable, Sendable {
    /// The call with all facts known so far.
    package var call: AccountCall
    var limited: AdmittedCall
    /// nil if no limits apply.
    private let limits: AccountLimits?
    private var isOpen = true

    /// Creates the admission of a call without limits.
    package init(_ call: AccountCall) { self.init(call, AdmittedCall(), nil) }

    init(_ call: AccountCall, _ limited: AdmittedCall, _ limits: AccountLimits?) {
        self.call = call
        self.limited = limited
        self.limits = limits
    }

    deinit { if isOpen { limits?.ended(limited) } }

    /// Ends the call and counts a failure.
    ///
    /// - Returns: whether it locks the account.
    consuming func failed() async -> Bool {
        isOpen = false
        return await limits?.failed(limited) ?? false
    }

    /// Ends the call of a user who has proven the password.
    ///
    /// - Parameter ownsNames: as for ``AccountLimits/succeeded(_:_:as:ownsNames:)``.
    consuming func proven(ownsNames: @Sendable () async -> Bool) async {
        isOpen = false
        await limits?.succeeded(limited, LimitedCall(call), ownsNames: ownsNames)
    }

    /// Ends the call of a user who has signed in.
    ///
    /// - Parameters:
    ///   - account: the account itself, whatever name the call has.
    ///   - ownsNames: as for ``AccountLimits/succeeded(_:_:as:ownsNames:)``.
    consuming func signedIn(as account: String, ownsNames: @Sendable () async -> Bool) async {
        isOpen = false
        await limits?.succeeded(limited, LimitedCall(call), as: account, ownsNames: ownsNames)
    }
}
