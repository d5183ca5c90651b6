internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPClient
internal import HTTPTypes
internal import Pipeline

/// An answer that is none of Cognito's: not JSON, or a server's fault.
struct ForeignAnswer: Error {}

/// Cognito's answer as it is passed on: status, body, and the headers by which its SDKs find an error's name. Nothing
/// else of what came is.
struct CognitoAnswer: Sendable {
    var status: Int
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8]
    /// Nil for a success.
    private(set) var error: CognitoError?
    /// The operation's output; empty for an error.
    private(set) var output: JSONObject

    private static let passed = ["x-amzn-errortype", "x-amzn-errormessage", "x-amzn-requestid"]

    init(_ response: FetchResponse) throws(ForeignAnswer) {
        guard response.status == 200 || (400..<500).contains(response.status) else { throw ForeignAnswer() }
        let object = (try? JSON.parse(response.body))?.objectValue
        guard object != nil || response.body.isEmpty else { throw ForeignAnswer() }
        status = response.status
        body = response.body
        output = response.status == 200 ? object ?? [:] : [:]
        error = response.status == 200 ? nil : CognitoError(response)
        headers = Self.passed.compactMap { name in
            guard let value = response.header(name), value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                return nil
            }
            return (name, value)
        }
    }

    /// A success of an operation that gives nothing.
    static let empty = CognitoAnswer(status: 200, body: Array("{}".utf8), output: [:])

    private init(status: Int, body: [UInt8], output: JSONObject) {
        self.status = status
        self.body = body
        self.output = output
    }

    /// The outcome of the call.
    var outcome: AccountOutcome {
        if let error { return .refused(error.kind.gatewayError, reason: .cognito(error.kind)) }
        switch AuthenticationAnswer(output) {
        case .challenge(let challenge): return .challenged(challenge.name)
        case .tokens(let result):
            guard let claims = result.accessClaims,
                let user = AccountUser(accessClaims: claims, idClaims: result.idClaims)
            else { return .succeeded }
            return .signedIn(user)
        case nil: return .succeeded
        }
    }

    /// The claims of the access token that it gives.
    var accessClaims: JSONObject? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.accessClaims
    }

    /// The refresh token that it gives.
    var refreshToken: Secret? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.refreshToken
    }

    /// A device that the pool has begun to track.
    var newDeviceKey: String? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.newDevice?.key
    }

    /// Cognito's own names for the user who is asked a question, the one to answer under first.
    var internalNames: [String] {
        let parameters = output["ChallengeParameters"]
        return ["USERNAME", "USER_ID_FOR_SRP"].compactMap { parameters?[$0]?.stringValue }
    }

    /// A refresh token of another app client, or of none.
    var isRefusedToken: Bool {
        error.map {
            ExactText($0.type) == "UnauthorizedException" || [.badCredentials, .tokenRevoked].contains($0.kind)
        } ?? false
    }

    /// As for a wrong password, where nobody's password was tried in the place of the account's.
    mutating func speakAsWrongPassword() {
        guard error == nil || error?.kind == .userNotFound else { return }
        speak(as: CognitoError(type: "NotAuthorizedException", message: "Incorrect username or password."))
    }

    /// Apps that refresh in the old way do not know that a token can have been used: to them it does not count any more.
    mutating func speakAsInitiateAuth() {
        guard error?.kind == .tokenReused else { return }
        speak(as: CognitoError(type: "NotAuthorizedException", message: "Refresh Token has been revoked"))
    }

    private mutating func speak(as error: CognitoError) {
        (status, output) = (400, [:])
        self.error = error
        body = JSON.object(["__type": .string(error.type), "message": .string(error.message)]).encoded()
        headers = headers.filter { $0.name == "x-amzn-requestid" } + [("x-amzn-errortype", "\(error.type):")]
    }
}

extension CognitoErrorKind {
    /// The gateway's own error that comes nearest.
    fileprivate var gatewayError: GatewayError {
        switch self {
        case .badCredentials, .userNotFound, .invalidSession, .tokenRevoked, .tokenExpired: .notAuthorized
        case .tokenReused: .tokenRefresh
        case .userNotConfirmed: .userNotConfirmed
        case .passwordResetRequired: .passwordResetRequired
        case .userDisabled: .userDisabled
        case .usernameExists: .usernameExists
        case .codeMismatch: .codeMismatch
        case .codeExpired: .expiredCode
        case .lockedOut, .throttled: .tooManyRequests
        default: .invalidParameter
        }
    }
}

extension DirectCognitoReply {
    init(_ answer: CognitoAnswer, requestID: String) {
        self.init(
            status: HTTPResponse.Status(code: answer.status),
            headers: Self.headers(answer.headers, requestID: requestID),
            body: answer.body, reason: (answer.error?.kind).map { .cognito($0) }, wasAsked: true)
    }

    init(_ refusal: DirectCognitoRefusal, requestID: String) {
        var headers = Self.headers(
            [("x-amzn-errortype", "\(refusal.type):"), ("x-amzn-errormessage", refusal.message)], requestID: requestID)
        if let seconds = refusal.retryAfter { headers[.retryAfter] = String(seconds) }
        self.init(
            status: HTTPResponse.Status(code: refusal.status), headers: headers, body: refusal.body,
            reason: refusal.reason, wasAsked: false)
    }

    /// Answers can hold tokens: nothing between the gateway and the app may keep them.
    private static func headers(_ special: [(name: String, value: String)], requestID: String) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "application/x-amz-json-1.1", .cacheControl: "no-store"]
        if let name = HTTPField.Name("x-amzn-requestid") { fields[name] = requestID }
        for (name, value) in special {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }
}

extension DirectCognitoReply: CustomStringConvertible, CustomReflectable {
    package var description: String { "DirectCognitoReply(\(status.code), \(reason?.code ?? "ok"))" }
    package var customMirror: Mirror {
        Mirror(self, children: ["status": status.code, "reason": reason?.code ?? "ok"])
    }
}

extension DirectCognitoRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { "DirectCognitoRequest(\(call.operation ?? "other"), \(requestID))" }
    package var customMirror: Mirror { Mirror(self, children: ["operation": call.operation ?? "other"]) }
}
