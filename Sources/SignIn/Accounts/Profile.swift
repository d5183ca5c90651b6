internal import Cryptography
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `GET me`: asks Cognito, so that a revoked token and changed attributes are seen at once.
    ///
    /// Only this pool's access tokens go to Cognito: no other issuer's token is shown to it.
    func me(_ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        guard let token = request.bearer, let identity = request.identity else {
            throw .tokenMissing()
        }
        guard identity.issuer == settings.issuer, identity.tokenUse == .access else {
            throw .tokenInvalid(.notAuthorized, message: "An access token is required.", reason: "not-an-access-token")
        }
        let output = try await call(
            .getUser, ["AccessToken": .string(token.exposeText())], for: request, refusing: AccountRefusals.me)
        guard let user = AccountUser(output: output, groups: identity.groups) else {
            throw unusable("UnreadableUser", request)
        }
        return AccountAnswer(.ok, user.object, subject: user.id)
    }
}
