internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    package static let oauthLogout = hosted("oauth-logout", .get, "logout", budget: .account)
}

/// `GET oauth/logout`: ends the browser's sign-in on Cognito's pages. `logout` ends the app's own session.
struct OAuthLogoutEndpoint: AccountEndpoint {
    static let operation = AccountOperation.oauthLogout

    private let logoutURI: String

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        let hosted = try accounts.requireHosted()
        let query = OAuthParameters(request.query)
        guard let client = try? query.value("client_id"), client.hasSameBytes(as: accounts.settings.clientID) else {
            throw Refusal(.badRequest, message: "The client_id is not known here.", reason: .account(.oauthClient))
        }
        guard let uri = try? query.value("logout_uri"), uri.isOne(of: hosted.settings.logoutURIs) else {
            throw Refusal(
                .badRequest, message: "The logout_uri is not one of this client's.", reason: .account(.redirectURI))
        }
        logoutURI = uri
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        .redirect(to: try accounts.requireHosted().domain.url(of: "/logout", [("logout_uri", logoutURI)]))
    }
}
