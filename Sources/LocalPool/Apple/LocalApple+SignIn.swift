internal import Encoding
internal import GRDB
internal import Store

extension LocalApple {
    /// An app's sign-in request to the phone, and the user's choices.
    struct SignIn: Sendable {
        /// An e-mail address or a `sub`. An unknown address creates an account.
        var user: String
        /// The app's bundle id.
        var clientID: String
        /// The nonce for the token.
        var nonce: String?
        /// The user's choice at the first sign-in to the app; nil: that of the account.
        var hidesEmail: Bool?
        /// Claims that override those of the token.
        var changes: JSONObject = [:]
    }

    /// Returns the phone's response to the app: `{identity_token, authorization_code, user, real_user_status}`, and at
    /// the first sign-in to the app also `email` and `full_name`.
    ///
    /// - Throws: InvalidParameterException for another team's app or an unknown `sub`.
    func signIn(_ request: SignIn) async throws -> JSONObject {
        guard configuration.clientIDs.contains(request.clientID) else {
            throw PoolError.invalidParameter("The team has no app \(request.clientID).")
        }
        let now = clock()
        let text = AppleToken.text(.code, random)
        let agreement = try await store.write { try agree(request, text, in: $0, now: now) }
        let (account, hidesEmail) = (agreement.account, agreement.hidesEmail)
        let claims = claims(account, agreement.code, hidesEmail: hidesEmail, with: .code(text))
        var answer: JSONObject = [
            "identity_token": .string(try identityToken(claims, by: keys.phone, changes: request.changes)),
            "authorization_code": .string(text), "user": .string(account.sub),
            "real_user_status": .number(JSONNumber(account.realUserStatus)),
        ]
        if agreement.isFirst {
            answer["email"] = .string(account.email(hidden: hidesEmail))
            answer["full_name"] = [
                "given_name": account.givenName.map(JSON.string) ?? .null,
                "family_name": account.familyName.map(JSON.string) ?? .null,
            ]
        }
        return answer
    }

    /// The records that a sign-in creates.
    private struct Agreement {
        var account: AppleAccount
        var hidesEmail: Bool
        var code: AppleToken
        /// Whether this is the user's first sign-in to the app.
        var isFirst: Bool
    }

    private func agree(
        _ request: SignIn, _ text: String, in database: Database, now: Int64
    ) throws -> Agreement {
        let account = try account(request.user, in: database)
        let known = try AppleConsent.find(account.sub, request.clientID, in: database)
        let hidesEmail = known?.hidesEmail ?? request.hidesEmail ?? account.hidesEmail
        if known == nil {
            try AppleConsent(sub: account.sub, clientID: request.clientID, hidesEmail: hidesEmail).insert(in: database)
        }
        let code = AppleToken(
            kind: .code, sub: account.sub, clientID: request.clientID, nonce: request.nonce, authTime: now,
            expires: now + configuration.lifetimes.code)
        try code.insert(text, in: database)
        return Agreement(account: account, hidesEmail: hidesEmail, code: code, isFirst: known == nil)
    }

    private func account(_ name: String, in database: Database) throws -> AppleAccount {
        if let account = try AppleAccount.find(name, in: database) { return account }
        guard EmailAddress.isPlausible(name) else {
            throw PoolError.invalidParameter("There is no account \(name), and it is no e-mail address.")
        }
        let account = newAccount(name)
        try account.save(in: database)
        return account
    }

    /// `{user, email, clients: [{client_id, refresh_tokens}]}`: the apps that the phone's settings show to the user.
    func settings(of name: String) async throws -> JSON {
        try await store.read { database in
            guard let account = try AppleAccount.find(name, in: database) else {
                throw PoolError.invalidParameter("There is no account \(name).")
            }
            let clients = try AppleConsent.list(of: account.sub, in: database).map { client -> JSON in
                ["client_id": .string(client.clientID), "refresh_tokens": .number(JSONNumber(client.refreshTokens))]
            }
            return ["user": .string(account.sub), "email": .string(account.email), "clients": .array(clients)]
        }
    }
}
