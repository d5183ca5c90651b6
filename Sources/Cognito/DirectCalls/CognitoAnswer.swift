package import Cryptography
package import Encoding
package import HTTPClient
internal import Pipeline

/// An answer that is none of Cognito's: not JSON, or a server's fault.
package struct ForeignAnswer: Error {}

/// Cognito's answer as it is passed on: status, body, and the headers by which its SDKs find an error's name. Nothing
/// else of what came is.
package struct CognitoAnswer: Sendable {
    package var status: Int
    package private(set) var headers: [(name: String, value: String)] = []
    package private(set) var body: [UInt8]
    /// Nil for a success.
    package private(set) var error: CognitoError?
    /// The operation's output; empty for an error.
    package private(set) var output: JSONObject

    private static let passed = ["x-amzn-errortype", "x-amzn-errormessage", "x-amzn-requestid"]

    package init(_ response: FetchResponse) throws(ForeignAnswer) {
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
    package static let empty = CognitoAnswer(status: 200, body: Array("{}".utf8), output: [:])

    private init(status: Int, body: [UInt8], output: JSONObject) {
        self.status = status
        self.body = body
        self.output = output
    }

    /// The claims of the access token that it gives.
    package var accessClaims: JSONObject? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.accessClaims
    }

    /// The access token that it gives.
    package var accessToken: Secret? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.accessToken
    }

    /// The refresh token that it gives.
    package var refreshToken: Secret? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.refreshToken
    }

    /// A device that the pool has begun to track.
    package var newDeviceKey: String? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.newDevice?.key
    }

    /// Cognito's own names for the user who is asked a question, the one to answer under first.
    package var internalNames: [String] {
        let parameters = output["ChallengeParameters"]
        return ["USERNAME", "USER_ID_FOR_SRP"].compactMap { parameters?[$0]?.stringValue }
    }

    /// Whether the next step of the sign-in sets a new password.
    package var asksForNewPassword: Bool { output["ChallengeName"] == "NEW_PASSWORD_REQUIRED" }

    /// A refresh token of another app client, or of none.
    package var isRefusedToken: Bool {
        error.map {
            ExactText($0.type) == "UnauthorizedException" || [.badCredentials, .tokenRevoked].contains($0.kind)
        } ?? false
    }

    /// The refusal of an access token that Cognito has given and revoked. A token that is none gets another message.
    package var isRevokedAccessToken: Bool {
        guard let error, error.kind == .tokenRevoked else { return false }
        let message = error.message.asciiLowercased
        return message.holds("access token") && message.holds("revoked")
    }

    /// As for a wrong password, where nobody's password was tried in the place of the account's.
    package mutating func speakAsWrongPassword() {
        guard error == nil || error?.kind == .userNotFound else { return }
        speak(as: CognitoError(type: "NotAuthorizedException", message: "Incorrect username or password."))
    }

    /// Apps that refresh in the old way do not know that a token can have been used: to them it does not count any
    /// more.
    package mutating func speakAsInitiateAuth() {
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
