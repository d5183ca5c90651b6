internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// The end of a user's other sessions after an app's own call of Cognito's has set a new password.
extension DirectCognitoCalls {
    func endOtherSessions(
        of call: TranslatedCall, at pool: DirectCognitoPool, requestID: String
    ) async throws(DirectCognitoRefusal) {
        guard call.operation.isOne(of: ["ChangePassword", "ConfirmForgotPassword"]),
            let owner = accounts.first(where: { $0.app.clientID.hasSameBytes(as: pool.settings.clientID) })
        else { return }
        do {
            try await owner.endSessions(named: call.account, claims: call.claims, requestID: requestID)
        } catch {
            throw .unavailable(error.reason)
        }
    }

    /// Ends the session of a refresh token that the revocation list refuses, at Cognito too.
    ///
    /// - Parameter answer: with the token's successor, in a pool that rotates them.
    func endRevoked(_ call: TranslatedCall, _ answer: CognitoAnswer, at pool: DirectCognitoPool) async {
        let shown = call.input["RefreshToken"]?.stringValue.map { Secret($0) }
        guard let token = answer.refreshToken ?? shown else { return }
        // Nothing depends on it: the list refuses the token for as long as it lives.
        if let owner = accounts.first(where: { $0.app.clientID.hasSameBytes(as: pool.settings.clientID) }) {
            let request = AccountRequest(operation: .logout, requestID: "", clientAddress: "")
            try? await owner.revokeAtCognito(token, of: owner.app.clientID, request)
        }
    }
}
