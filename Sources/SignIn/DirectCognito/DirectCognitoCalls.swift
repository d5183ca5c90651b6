package import HTTPTypes
package import Logging
package import Pipeline
package import Upstream

/// A call for Cognito that an app sent to the gateway, its body read in full.
package struct DirectCognitoRequest: Sendable {
    package var call: DirectCognitoCall
    package var body: [UInt8]
    package var requestID: String
    /// The address of the client as the gateway trusts it.
    package var clientAddress: String

    package init(call: DirectCognitoCall, body: [UInt8], requestID: String, clientAddress: String) {
        self.call = call
        self.body = body
        self.requestID = requestID
        self.clientAddress = clientAddress
    }
}

/// The whole answer to a ``DirectCognitoRequest``. The body can hold tokens: it is never to be logged.
package struct DirectCognitoReply: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    package var body: [UInt8]
    /// Why it was refused, for the access log; nil for a success.
    package var reason: String?
    /// Whether it is Cognito's own answer.
    package var wasAsked: Bool
}

/// Carries out what apps call Cognito for, with the app client's secret added.
package struct DirectCognitoCalls: Sendable {
    private let translation: DirectCognitoTranslation
    private let endpoint: String
    private let fetcher: any Fetcher
    private let deadline: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - endpoint: such as `https://cognito-idp.eu-west-1.amazonaws.com/`.
    ///   - deadline: the most time one operation may take.
    package init(
        pool: DirectCognitoPool, endpoint: String, fetcher: any Fetcher, deadline: Duration = .seconds(5),
        logger: Logger
    ) {
        translation = DirectCognitoTranslation(pool: pool)
        self.endpoint = endpoint
        self.fetcher = fetcher
        self.deadline = deadline
        self.logger = logger
    }

    /// Answers a call. Never fails: every failure is an answer in Cognito's own shape.
    package func answer(_ request: DirectCognitoRequest) async -> DirectCognitoReply {
        do throws(DirectCognitoRefusal) {
            guard let operation = request.call.operation else { throw .notCarriedOut }
            let call = try translation.call(operation, request.body, clientAddress: request.clientAddress)
            return DirectCognitoReply(try await carryOut(call, request), requestID: request.requestID)
        } catch {
            return DirectCognitoReply(error, requestID: request.requestID)
        }
    }

    private func carryOut(
        _ call: TranslatedCall, _ request: DirectCognitoRequest
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        var answer = try await send(call.operation, call.input)
        if let former = call.asFormerClient, answer.isRefusedToken {
            let second = try await send(call.operation, former)
            if second.error == nil { answer = second }
        }
        if let error = answer.error { try check(error, call, request) }
        if call.isTranslatedRefresh { answer.speakAsInitiateAuth() }
        return answer
    }

    private func send(_ operation: String, _ input: JSONObject) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        let request = FetchRequest(
            method: "POST", url: endpoint,
            headers: [
                ("Content-Type", "application/x-amz-json-1.1"),
                ("X-Amz-Target", "AWSCognitoIdentityProviderService.\(operation)"),
            ],
            body: JSON.object(input).encoded(), deadline: deadline)
        do {
            return try CognitoAnswer(await fetcher.fetch(request))
        } catch let error as FetchError {
            let unavailable = CognitoError(noAnswer: error)
            logger.warning(
                "Cognito could not be used", metadata: ["operation": "\(operation)", "error": "\(unavailable.type)"])
            throw .unavailable(unavailable.kind.rawValue)
        } catch {
            logger.warning("Cognito's answer is not its own", metadata: ["operation": "\(operation)"])
            throw .unavailable("provider-unavailable")
        }
    }

    /// What is the gateway's own fault is never put to the caller as theirs.
    private func check(
        _ error: CognitoError, _ call: TranslatedCall, _ request: DirectCognitoRequest
    ) throws(DirectCognitoRefusal) {
        switch error.kind {
        case .clientSecretRefused, .clientUnknown, .poolMisconfigured, .blockedByFirewall, .unsupportedOperation:
            logger.error(
                "Cognito refuses the gateway itself; check the setting named",
                metadata: [
                    "operation": "\(call.operation)", "request_id": "\(request.requestID)", "error": "\(error.type)",
                    "setting": "\(error.kind.guiltySetting ?? "")",
                ])
            throw .unavailable(error.kind.rawValue)
        case .unavailable:
            throw .unavailable(error.kind.rawValue)
        default: break
        }
    }
}
