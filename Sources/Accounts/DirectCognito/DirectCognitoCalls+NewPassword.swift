internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

extension TranslatedCall {
    fileprivate var setsPasswordAtSignIn: Bool {
        ExactText(operation) == "RespondToAuthChallenge"
            && (input["ChallengeName"]?.stringValue).hasSameBytes(as: "NEW_PASSWORD_REQUIRED")
    }
}

/// The end of a user's other sessions after an app's own call of Cognito's has set a new password.
extension DirectCognitoCalls {
    /// A call that sets a new password.
    private struct NewPassword {
        var owner: CognitoAccounts
        var change: PasswordChange
        /// Under which an attempt is noted whose sessions could not be ended.
        var key: String

        init?(_ call: TranslatedCall, _ owner: CognitoAccounts?) {
            guard let owner else { return nil }
            let names: (current: String, new: String)
            switch ExactText(call.operation) {
            case "ChangePassword": names = ("PreviousPassword", "ProposedPassword")
            case "ConfirmForgotPassword": names = ("ConfirmationCode", "Password")
            default: return nil
            }
            guard let user = call.claims == nil ? call.account : call.claimed.subject,
                let current = call.input[names.current]?.stringValue, let new = call.input[names.new]?.stringValue
            else { return nil }
            self.owner = owner
            change = PasswordChange(current: Secret(current), new: Secret(new))
            key = "direct/\(call.operation)/\(user)"
        }
    }

    private func newPassword(_ call: TranslatedCall, _ pool: DirectCognitoPool) -> NewPassword? {
        NewPassword(call, owner(pool))
    }

    /// Whether an earlier attempt has set this very password, and only the end of the other sessions is left to be done.
    func isMade(_ call: TranslatedCall, at pool: DirectCognitoPool) -> Bool {
        guard let new = newPassword(call, pool) else { return false }
        return new.owner.unansweredChanges.remove(new.change, of: new.key)
    }

    /// Stores that a call is about to set a new password.
    ///
    /// - Parameter account: the name that the sign-in began with, where the call is a step of one.
    /// - Returns: nil for a call that sets none, and where no session ends.
    func storeChange(
        by call: TranslatedCall, account: String?, at pool: DirectCognitoPool, requestID: String
    ) async throws(DirectCognitoRefusal) -> CognitoAccounts.StoredChange? {
        let request = AccountRequest(operation: .resetPassword, requestID: requestID, clientAddress: "")
        do throws(Refusal) {
            if call.setsPasswordAtSignIn {
                return try await owner(pool)?.storeChangeAtSignIn(named: account, request)
            }
            guard let new = newPassword(call, pool) else { return nil }
            guard let claims = call.claims else {
                guard let name = call.account else { return nil }
                return try await new.owner.storeChange(named: name, request)
            }
            return try await new.owner.storeChange(
                of: claims["sub"]?.stringValue, sparing: claims["origin_jti"]?.stringValue, request)
        } catch {
            throw .unavailable(error.reason)
        }
    }

    /// Whether a step of a sign-in may have set a password although it failed: its response was lost. Only the step
    /// of a user who has proven a password counts, because nobody has verified the code or the token of another call.
    func mayHaveSetPassword(
        _ call: TranslatedCall, of signIn: SignInUnderWay?, _ refusal: DirectCognitoRefusal
    ) -> Bool {
        call.setsPasswordAtSignIn && signIn?.isPasswordProven == true && refusal.reason == .cognito(.unavailable)
    }

    /// The call has set no password, or nobody knows whose.
    func drop(_ change: CognitoAccounts.StoredChange?, at pool: DirectCognitoPool) async {
        await owner(pool)?.finish(change)
    }

    /// The password is set, or may be, and the call counts for nothing all the same.
    func leave(_ change: CognitoAccounts.StoredChange?, at pool: DirectCognitoPool) { owner(pool)?.leave(change) }

    /// - Parameter account: the name that the sign-in began with, where the call is a step of one.
    func endOtherSessions(
        of call: TranslatedCall, _ answer: CognitoAnswer, _ change: CognitoAccounts.StoredChange?, account: String?,
        at pool: DirectCognitoPool, requestID: String
    ) async throws(DirectCognitoRefusal) {
        if call.setsPasswordAtSignIn {
            guard let owner = owner(pool) else { return }
            let haveEnded = await owner.endSessions(
                before: answer.accessClaims, named: account, requestID: requestID)
            if haveEnded { await owner.finish(change) } else { owner.leave(change) }
            return
        }
        guard let new = newPassword(call, pool) else { return }
        do {
            try await new.owner.endSessions(named: call.account, claims: call.claims, requestID: requestID)
        } catch {
            new.owner.unansweredChanges.note(new.change, of: new.key)
            new.owner.leave(change)
            throw .unavailable(error.reason)
        }
        await new.owner.finish(change)
    }

    /// The account endpoints of the pool's app client.
    func owner(_ pool: DirectCognitoPool) -> CognitoAccounts? {
        accounts.first { $0.app.clientID.hasSameBytes(as: pool.settings.clientID) }
    }

    /// Ends the session of a refresh token that the revocation list refuses, at Cognito too.
    ///
    /// - Parameter answer: with the token's successor, in a pool that rotates them.
    func endRevoked(_ call: TranslatedCall, _ answer: CognitoAnswer, at pool: DirectCognitoPool) async {
        let shown = call.input["RefreshToken"]?.stringValue.map { Secret($0) }
        guard let owner = owner(pool), let token = answer.refreshToken ?? shown else { return }
        var app = owner.app
        if let clientID = answer.accessClaims?["client_id"]?.stringValue, !clientID.hasSameBytes(as: app.clientID) {
            // The former client, which has no secret.
            app = AppClient(poolID: pool.settings.poolID, clientID: clientID)
        }
        let request = AccountRequest(operation: .logout, requestID: "", clientAddress: "")
        // Where it fails, the list refuses the token until the entry ends. The token may live longer at Cognito.
        try? await owner.revokeAtCognito(token, of: app, request)
    }
}
