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

/// The end of a user's other sessions after an app's direct call has set a new password.
extension DirectCognitoCalls {
    /// A call that sets a new password.
    private struct NewPassword {
        var owner: CognitoAccounts
        var change: PasswordChange
        /// The key for a change whose sessions could not be ended.
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

    /// Returns whether an earlier attempt has set this very password, so that only the other sessions remain to be
    /// ended.
    func isMade(_ call: TranslatedCall, at pool: DirectCognitoPool) -> Bool {
        guard let new = newPassword(call, pool) else { return false }
        return new.owner.unansweredChanges.remove(new.change, of: new.key)
    }

    /// Stores the password change that a call is about to make.
    ///
    /// - Parameter names: the user's names, if the call is a step of a sign-in.
    /// - Returns: nil for a call that sets no password, or if no session ends.
    func storeChange(
        by call: TranslatedCall, named names: [String], at pool: DirectCognitoPool, requestID: String
    ) async throws(DirectCognitoRefusal) -> CognitoAccounts.StoredChange? {
        let request = AccountRequest(operation: .resetPassword, requestID: requestID, clientAddress: "")
        do throws(Refusal) {
            if call.setsPasswordAtSignIn {
                return try await owner(pool)?.storeChangeAtSignIn(named: names, request)
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

    /// Returns whether a failed step of a sign-in may have set a password, because its response was lost. Only the step
    /// of a user with a proven password counts, because nobody has verified the code or the token of another call.
    func mayHaveSetPassword(
        _ call: TranslatedCall, of signIn: SignInUnderWay?, _ refusal: DirectCognitoRefusal
    ) -> Bool {
        call.setsPasswordAtSignIn && signIn?.isPasswordProven == true && refusal.reason == .cognito(.unavailable)
    }

    /// Removes the change of a call that has set no password, or whose user nobody knows.
    func drop(_ change: CognitoAccounts.StoredChange?, at pool: DirectCognitoPool) async {
        await owner(pool)?.finish(change)
    }

    /// Leaves a change for later: the password is set, or may be, but the call is refused.
    func leave(_ change: CognitoAccounts.StoredChange?, at pool: DirectCognitoPool) { owner(pool)?.leave(change) }

    /// Ends the user's other sessions after a call that has set a new password.
    ///
    /// - Parameter names: the user's names, if the call is a step of a sign-in.
    /// - Throws: 503 if they could not be ended, except during a sign-in.
    func endOtherSessions(
        of call: TranslatedCall, _ answer: CognitoAnswer, _ change: CognitoAccounts.StoredChange?,
        named names: [String],
        at pool: DirectCognitoPool, requestID: String
    ) async throws(DirectCognitoRefusal) {
        if call.setsPasswordAtSignIn {
            guard let owner = owner(pool) else { return }
            let haveEnded = await owner.endSessions(
                before: answer.accessClaims, named: names, requestID: requestID)
            if haveEnded { await owner.finish(change) } else { owner.leave(change) }
            return
        }
        guard let new = newPassword(call, pool) else { return }
        do {
            let names = [call.account].compactMap { $0 }
            try await new.owner.endSessions(named: names, claims: call.claims, requestID: requestID)
        } catch {
            new.owner.unansweredChanges.note(new.change, of: new.key)
            new.owner.leave(change)
            throw .unavailable(error.reason)
        }
        await new.owner.finish(change)
    }

    /// Returns the account endpoints of the pool's app client; nil if there are none.
    func owner(_ pool: DirectCognitoPool) -> CognitoAccounts? {
        accounts.first { $0.app.clientID.hasSameBytes(as: pool.settings.clientID) }
    }

    /// Ends the session of a refresh token that the revocation list refuses, also at Cognito.
    ///
    /// - Parameter answer: contains the token's successor, in a pool with rotation.
    func endRevoked(_ call: TranslatedCall, _ answer: CognitoAnswer, at pool: DirectCognitoPool) async {
        let shown = call.input["RefreshToken"]?.stringValue.map { Secret($0) }
        guard let owner = owner(pool), let token = answer.refreshToken ?? shown else { return }
        var app = owner.app
        if let clientID = answer.accessClaims?["client_id"]?.stringValue, !clientID.hasSameBytes(as: app.clientID) {
            // The former client, which has no secret.
            app = AppClient(poolID: pool.settings.poolID, clientID: clientID)
        }
        let request = AccountRequest(operation: .logout, requestID: "", clientAddress: "")
        // If it fails, the list refuses the token until the entry expires. The token may live longer at Cognito.
        try? await owner.revokeAtCognito(token, of: app, request)
    }
}
