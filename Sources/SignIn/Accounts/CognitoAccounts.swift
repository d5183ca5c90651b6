internal import Cryptography
internal import HTTPTypes
package import Logging
internal import Pipeline
package import Upstream

/// The account endpoints over one Cognito user pool: sign-in, refresh and profile.
///
/// Holds no session: what a refresh needs is in the sealed token that the client keeps.
///
/// A sign-in that Cognito answers with a challenge is answered 202 with the challenge's name, session and parameters;
/// the endpoint that takes the client's response to it is not among the operations yet.
package struct CognitoAccounts: Sendable {
    let settings: CognitoAccountSettings
    let client: CognitoClient
    let refresher: TokenRefresher
    let flights: RefreshFlights<Result<RefreshedSession, Refusal>>
    let now: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]
    let logger: Logger

    /// - Parameters:
    ///   - fetcher: carries the calls to Cognito.
    ///   - previous: what answered until now. A refresh that is under way there is joined: with rotation a second call
    ///     to Cognito would look like the reuse of a stolen token.
    ///   - now: seconds since 1970.
    ///   - random: gives as many random bytes as asked for, from a cryptographic source.
    package init(
        settings: CognitoAccountSettings, fetcher: any Fetcher, after previous: CognitoAccounts? = nil,
        now: @escaping @Sendable () -> Int64, random: @escaping @Sendable (Int) -> [UInt8], logger: Logger
    ) {
        self.settings = settings
        if let previous, previous.settings.endpoint == settings.endpoint, previous.settings.poolID == settings.poolID,
            previous.settings.clientID == settings.clientID
        {
            flights = previous.flights
        } else {
            flights = RefreshFlights()
        }
        self.now = now
        self.random = random
        self.logger = logger
        client = CognitoClient(endpoint: settings.endpoint, fetcher: fetcher, deadline: settings.deadline)
        refresher = TokenRefresher(
            client: client, clientID: settings.clientID, clientSecret: settings.clientSecret)
    }

    /// Answers a request. Never fails: every failure is an answer with the API's error body.
    package func answer(_ request: AccountRequest) async -> AccountAnswer {
        do {
            switch request.operation {
            case .login: return try await login(request)
            case .refresh: return try await refresh(request)
            case .me: return try await me(request)
            }
        } catch {
            return AccountAnswer(refusal: error, requestID: request.requestID)
        }
    }
}

extension CognitoAccounts {
    /// Calls Cognito for an endpoint, turning its failure into that endpoint's refusal.
    func call(
        _ operation: CognitoOperation, _ input: JSONObject, for request: AccountRequest,
        refusing refusal: (CognitoErrorKind) -> Refusal
    ) async throws(Refusal) -> JSONObject {
        do {
            return try await client.call(operation, input)
        } catch {
            report(error, request)
            throw refusal(error.kind)
        }
    }

    /// Puts into the log what an operator has to set right. What users do wrong is in the access log.
    func report(_ error: CognitoError, _ request: AccountRequest) {
        var metadata: Logger.Metadata = [
            "operation": "\(request.operation.rawValue)", "request_id": "\(request.requestID)",
            "pool_id": "\(settings.poolID)", "error": "\(error.type)", "reason": "\(error.kind.rawValue)",
        ]
        if let setting = error.kind.guiltySetting {
            metadata["setting"] = "\(setting)"
            logger.error("Cognito refuses the gateway itself; check the setting named", metadata: metadata)
        } else if error.kind == .unavailable || error.kind == .other || error.kind == .throttled {
            logger.warning("Cognito could not be used", metadata: metadata)
        }
    }

    /// Cognito gave an answer that the gateway can make nothing of.
    func unusable(_ what: String, _ request: AccountRequest) -> Refusal {
        let error = CognitoError(unavailable: what)
        report(error, request)
        return AccountRefusals.login(error.kind)
    }

    /// What tells Cognito's threat protection where the user is, if the app client allows that.
    func userContext(_ request: AccountRequest) -> JSON? {
        settings.propagateClientAddress ? ["IpAddress": .string(request.clientAddress)] : nil
    }

    func seal(_ token: SealedRefreshToken, _ request: AccountRequest) throws(Refusal) -> Secret {
        do {
            return try token.sealed(with: settings.sealingKeys, poolID: settings.poolID)
        } catch {
            logger.error("A refresh token could not be sealed", metadata: ["request_id": "\(request.requestID)"])
            throw Refusal(.internalFailure, reason: "sealing-failed")
        }
    }
}
