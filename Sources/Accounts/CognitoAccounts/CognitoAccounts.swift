package import Cognito
internal import Cryptography
package import HTTPClient
internal import HTTPTypes
package import Logging
package import Pipeline
package import Sealing
package import Store

/// The account endpoints over one Cognito user pool.
///
/// The client's sealed token contains everything that a refresh needs. The session records show which of a sign-in's
/// tokens is the newest.
package struct CognitoAccounts: Sendable {
    package let settings: CognitoSignInSettings
    /// The keys that seal refresh tokens, challenges and device tokens.
    let sealingKeys: SealingKeyRing
    let app: AppClient
    let client: CognitoClient
    let authenticator: Authenticator
    /// The clients whose refresh tokens are exchanged here, the gateway's own first.
    let tokenClients: [TokenClient]
    let sessions: RefreshSessions
    /// Sign-in on Cognito's own pages; nil if it is disabled.
    let hosted: HostedSignIn?
    let flights: RefreshFlights<RefreshedSession>
    let turns: RefreshTurns
    let unansweredChanges: UnansweredChanges
    let singlyRevoked: SinglyRevokedSignIns
    /// nil if password changes are not stored.
    let passwordChanges: PasswordChanges?
    let siblings: SiblingClients
    let provenErrors: ProvenErrors
    let passkeyChallenges: PasskeyChallenges
    let begunContactChanges: BegunContactChanges
    let flow: AccountFlow
    /// The check whether the pool's tokens are accepted; nil if it is not made.
    package let tokenCheck: SignInTokenCheck?
    let revoke: TokenRevocation
    let isRevoked: @Sendable (VerifiedToken) -> Bool
    let hasUnstored: @Sendable () -> Bool
    let revocationTime: @Sendable () -> Int64
    let now: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]
    let logger: Logger

    /// Puts tokens on the revocation list; returns once they are refused.
    package typealias TokenRevocation = @Sendable ([Revocation]) async throws -> Void

    /// - Parameters:
    ///   - sealingKeys: the keys that seal the clients' tokens.
    ///   - fetcher: sends the calls to Cognito.
    ///   - signer: signs the admin operations; nil if the flow needs none.
    ///   - records: the stored part of each sign-in.
    ///   - codes: the authorization codes; nil if there are none.
    ///   - passwordChanges: the process's password changes; nil: none is stored.
    ///   - siblings: the pool's other app clients.
    ///   - flow: the steps of each call.
    ///   - tokenCheck: checks the first of the pool's tokens.
    ///   - isRevoked: whether a token is on the revocation list.
    ///   - hasUnstored: whether that list has revocations that could not be stored.
    ///   - revocationTime: the latest time known to have passed, in seconds since 1970, so that no token stays valid
    ///     because of a slow clock.
    ///   - previous: the value that this one replaces. A refresh in progress there is joined: with rotation, a second
    ///     call to Cognito would look like the reuse of a stolen token.
    ///   - now: seconds since 1970.
    ///   - random: returns the requested number of bytes from a cryptographic source.
    ///   - pause: returns after a time, or throws when the task is cancelled.
    package init(
        settings: CognitoSignInSettings, sealingKeys: SealingKeyRing, fetcher: any Fetcher,
        signer: RequestSigner? = nil, records: any SessionRecords,
        codes: (any AuthorizationCodeRecords)? = nil, passwordChanges: PasswordChanges? = nil,
        siblings: SiblingClients = SiblingClients(), flow: AccountFlow,
        tokenCheck: SignInTokenCheck? = nil, revoke: @escaping TokenRevocation,
        isRevoked: @escaping @Sendable (VerifiedToken) -> Bool,
        hasUnstored: @escaping @Sendable () -> Bool = { false }, revocationTime: @escaping @Sendable () -> Int64,
        after previous: CognitoAccounts? = nil,
        now: @escaping @Sendable () -> Int64, random: @escaping @Sendable (Int) -> [UInt8],
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, logger: Logger
    ) {
        self.settings = settings
        self.sealingKeys = sealingKeys
        if let previous, previous.settings.endpoint == settings.endpoint, previous.settings.poolID == settings.poolID,
            previous.settings.clientID == settings.clientID
        {
            (flights, unansweredChanges) = (previous.flights, previous.unansweredChanges)
            singlyRevoked = previous.singlyRevoked
            provenErrors = previous.settings.flow == settings.flow ? previous.provenErrors : ProvenErrors()
        } else {
            (flights, unansweredChanges) = (RefreshFlights(), UnansweredChanges(now: now, random: random))
            singlyRevoked = SinglyRevokedSignIns()
            provenErrors = ProvenErrors()
        }
        passkeyChallenges = previous?.passkeyChallenges ?? PasskeyChallenges(random: random)
        begunContactChanges = previous?.begunContactChanges ?? BegunContactChanges(now: now)
        self.passwordChanges = passwordChanges
        self.siblings = siblings
        self.flow = flow
        self.tokenCheck = tokenCheck
        self.revoke = revoke
        self.isRevoked = isRevoked
        self.hasUnstored = hasUnstored
        self.revocationTime = revocationTime
        self.now = now
        self.random = random
        self.logger = logger
        app = AppClient(poolID: settings.poolID, clientID: settings.clientID, clientSecret: settings.clientSecret)
        client = CognitoClient(
            endpoint: settings.endpoint, fetcher: fetcher, deadline: settings.deadline, signer: signer)
        authenticator = Authenticator(client: client, app: app, flow: settings.flow, now: now, random: random)
        tokenClients = Self.tokenClients(
            settings, TokenClient(app: app, refresher: TokenRefresher(client: client, app: app)), client)
        turns = RefreshTurns(records: records, pause: pause)
        sessions = RefreshSessions(
            records: records, poolID: settings.poolID, keys: sealingKeys, otherKeys: siblings.sealingKeys, now: now)
        if let hosted = settings.hosted, let codes {
            let domain = HostedDomain(url: hosted.domain, app: app, fetcher: fetcher, deadline: settings.deadline)
            self.hosted = HostedSignIn(settings: hosted, domain: domain, codes: RecentCodes(codes))
        } else {
            hosted = nil
        }
    }

    /// Answers a request. Never throws: every failure becomes a response with the API's error body.
    package func answer(_ request: AccountRequest) async -> AccountAnswer {
        let isOAuth = request.operation == .oauthToken
        let refresh = isOAuth ? OAuthTokenEndpoint.asRefresh(request, self) : nil
        let request = refresh ?? request
        do {
            let answer = try await flow.answer(
                request, among: Self.endpointsByOperation, of: self, poolID: settings.poolID)
            return try await answer.next?() ?? answer
        } catch {
            return isOAuth
                ? AccountAnswer(oauth: error, requestID: request.requestID)
                : AccountAnswer(refusal: error, requestID: request.requestID)
        }
    }
}

extension CognitoAccounts {
    /// All endpoints, in the order of their routes.
    private static let endpoints: [any AccountEndpoint<CognitoAccounts>.Type] = [
        LoginEndpoint.self, ChallengeEndpoint.self, RefreshEndpoint.self, LogoutEndpoint.self, RegisterEndpoint.self,
        ConfirmEndpoint.self, ResendCodeEndpoint.self, ForgotPasswordEndpoint.self, ResetPasswordEndpoint.self,
        ChangePasswordEndpoint.self, MeEndpoint.self, UpdateMeEndpoint.self, DeleteMeEndpoint.self,
        ExportEndpoint.self, SessionListEndpoint.self, EndSessionEndpoint.self, EndOtherSessionsEndpoint.self,
        ChangeContactEndpoint<EmailAttribute>.self, ResendContactCodeEndpoint<EmailAttribute>.self,
        VerifyContactEndpoint<EmailAttribute>.self, ChangeContactEndpoint<PhoneAttribute>.self,
        ResendContactCodeEndpoint<PhoneAttribute>.self, VerifyContactEndpoint<PhoneAttribute>.self,
        SecondFactorsEndpoint.self, SetSecondFactorsEndpoint.self, SetUpTOTPEndpoint.self, VerifyTOTPEndpoint.self,
        RemoveTOTPEndpoint.self,
        OAuthAuthorizeEndpoint.self, OAuthCallbackEndpoint.self, OAuthTokenEndpoint.self, OAuthLogoutEndpoint.self,
        PasskeyOptionsEndpoint.self, RegisterPasskeyEndpoint.self, PasskeysEndpoint.self, DeletePasskeyEndpoint.self,
    ]

    package static let operations = endpoints.map { $0.operation }

    private static let endpointsByOperation = AccountEndpoints<CognitoAccounts>(
        uniqueKeysWithValues: endpoints.map { ($0.operation, $0) })

    /// Returns the operations of pools with these settings.
    package static func operations(hasHosted: Bool) -> [AccountOperation] {
        operations.filter { hasHosted || !$0.isHosted }
    }
}
