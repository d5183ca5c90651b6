package import Cognito
internal import Cryptography
package import HTTPClient
internal import HTTPTypes
package import Logging
package import Pipeline
package import Store

/// The account endpoints over one Cognito user pool.
///
/// The sealed token that the client keeps holds everything for a refresh. The session records show which of a sign-in's
/// tokens is the newest one.
package struct CognitoAccounts: Sendable {
    package let settings: CognitoAccountSettings
    let app: AppClient
    let client: CognitoClient
    let authenticator: Authenticator
    let refresher: TokenRefresher
    let sessions: RefreshSessions
    let flights: RefreshFlights<Result<RefreshedSession, Refusal>>
    let unansweredChanges: UnansweredChanges
    let observers: [any AccountObserver]
    let revoke: TokenRevocation
    let revocationTime: @Sendable () -> Int64
    let now: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]
    let logger: Logger

    /// Puts tokens on the revocation list; returns when they count no more.
    package typealias TokenRevocation = @Sendable ([Revocation]) async throws -> Void

    /// - Parameters:
    ///   - fetcher: carries the calls to Cognito.
    ///   - signer: signs those that an AWS account makes; `nil` where the flow needs none.
    ///   - records: what outlasts the process of each sign-in.
    ///   - observers: what each call passes, in this order.
    ///   - revocationTime: the time by which tokens are revoked, in seconds since 1970: that of the latest sign-in or later, also while
    ///     the clock is behind.
    ///   - previous: what answered until now. A refresh that is under way there is joined: with rotation a second call
    ///     to Cognito would look like the reuse of a stolen token.
    ///   - now: seconds since 1970.
    ///   - random: gives as many random bytes as asked for, from a cryptographic source.
    package init(
        settings: CognitoAccountSettings, fetcher: any Fetcher, signer: RequestSigner? = nil,
        records: any SessionRecords, observers: [any AccountObserver] = [], revoke: @escaping TokenRevocation,
        revocationTime: @escaping @Sendable () -> Int64, after previous: CognitoAccounts? = nil,
        now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable (Int) -> [UInt8], logger: Logger
    ) {
        self.settings = settings
        if let previous, previous.settings.endpoint == settings.endpoint, previous.settings.poolID == settings.poolID,
            previous.settings.clientID == settings.clientID
        {
            (flights, unansweredChanges) = (previous.flights, previous.unansweredChanges)
        } else {
            (flights, unansweredChanges) = (RefreshFlights(), UnansweredChanges(now: now, random: random))
        }
        self.observers = observers
        self.revoke = revoke
        self.revocationTime = revocationTime
        self.now = now
        self.random = random
        self.logger = logger
        app = AppClient(poolID: settings.poolID, clientID: settings.clientID, clientSecret: settings.clientSecret)
        client = CognitoClient(
            endpoint: settings.endpoint, fetcher: fetcher, deadline: settings.deadline, signer: signer)
        authenticator = Authenticator(client: client, app: app, flow: settings.flow, now: now, random: random)
        refresher = TokenRefresher(client: client, app: app)
        sessions = RefreshSessions(records: records, poolID: settings.poolID, keys: settings.sealingKeys, now: now)
    }

    /// Answers a request. Never fails: every failure is an answer with the API's error body.
    package func answer(_ request: AccountRequest) async -> AccountAnswer {
        do {
            return try await carryOut(request)
        } catch {
            return AccountAnswer(refusal: error, requestID: request.requestID)
        }
    }

    /// The one way of every account call: read, identified, admitted, done, told.
    private func carryOut(_ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        var call = AccountCall(request, poolID: settings.poolID)
        let command: AccountCommand
        do {
            command = try await read(request, call)
        } catch {
            try await tell(call, refusal: error)
        }
        return try await carryOut(command, request, &call)
    }

    /// A malformed request costs about as much as another one: it counts as a call.
    private func read(_ request: AccountRequest, _ call: AccountCall) async throws(Refusal) -> AccountCommand {
        do {
            return try AccountCommand(request, writable: settings.writableAttributes)
        } catch {
            for observer in observers { try await observer.admit(call) }
            throw error
        }
    }

    /// - Parameter call: what is known of it, to which what is learnt is added.
    func carryOut(
        _ command: AccountCommand, _ request: AccountRequest, _ call: inout AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        let answer: AccountAnswer
        do throws(Refusal) {
            let task: AccountTask
            do throws(Refusal) {
                task = try prepare(command, request, &call)
            } catch {
                // Whoever shows a token that is none may be trying some out: that counts as a call.
                for observer in observers { try await observer.admit(call) }
                throw error
            }
            for observer in observers { try await observer.admit(call) }
            answer = try await perform(task, request, call)
        } catch {
            try await tell(call, refusal: error)
        }
        call.subject = answer.subject ?? call.subject
        try await observers.tell(call, of: answer)
        guard case .confirm(let body) = command, let password = body.password else { return answer }
        return try await signIn(LoginBody(email: body.email, password: password), after: request)
    }

    /// The sign-in that a confirmation asks for is a call of its own.
    private func signIn(_ body: LoginBody, after request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        var request = request
        request.operation = .login
        var call = AccountCall(request, poolID: settings.poolID)
        return try await carryOut(.login(body), request, &call)
    }

    private func tell(_ call: AccountCall, refusal: Refusal) async throws(Refusal) -> Never {
        for observer in observers {
            // The refusal stands, whatever an observer throws.
            try? await observer.ended(call, .refused(refusal.error, reason: refusal.reason))
        }
        throw refusal
    }
}
