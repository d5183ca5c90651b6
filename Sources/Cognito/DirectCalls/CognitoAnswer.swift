package import Cryptography
package import Encoding
package import HTTPClient
internal import Pipeline

/// A response that is not Cognito's: not JSON, or a server error.
package struct ForeignAnswer: Error {}

/// Cognito's response as it is passed on: status, body, and the headers in which its SDKs look up an error's name.
/// Other headers are dropped.
package struct CognitoAnswer: Sendable {
    package var status: Int
    package private(set) var headers: [(name: String, value: String)] = []
    package private(set) var body: [UInt8]
    /// nil for a success.
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

    /// The success response of an operation without output.
    package static let empty = CognitoAnswer(status: 200, body: Array("{}".utf8), output: [:])

    private init(status: Int, body: [UInt8], output: JSONObject) {
        self.status = status
        self.body = body
        self.output = output
    }

    /// The claims of the access token in the response.
    package var accessClaims: JSONObject? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.accessClaims
    }

    /// The access token in the response.
    package var accessToken: Secret? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.accessToken
    }

    /// The refresh token in the response.
    package var refreshToken: Secret? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.refreshToken
    }

    /// The key of a device that the pool began to track.
    package var newDeviceKey: String? {
        guard case .tokens(let result) = AuthenticationAnswer(output) else { return nil }
        return result.newDevice?.key
    }

    /// Cognito's internal names of the challenged user, the one to answer with first.
    package var internalNames: [String] {
        let parameters = output["ChallengeParameters"]
        return ["USERNAME", "USER_ID_FOR_SRP"].compactMap { parameters?[$0]?.stringValue }
    }

    /// Whether the next step of the sign-in sets a new password.
    package var asksForNewPassword: Bool { output["ChallengeName"] == "NEW_PASSWORD_REQUIRED" }

    /// Whether Cognito refused the refresh token: it is another app client's, or invalid.
    package var isRefusedToken: Bool {
        error.map {
            ExactText($0.type) == "UnauthorizedException" || [.badCredentials, .tokenRevoked].contains($0.kind)
        } ?? false
    }

    /// Whether Cognito refused an access token because it was revoked. An invalid token gets another message.
    package var isRevokedAccessToken: Bool {
        guard let error, error.kind == .tokenRevoked else { return false }
        let message = error.message.asciiLowercased
        return message.holds("access token") && message.holds("revoked")
    }

    /// Turns a success or an unknown user into the error for a wrong password. For a call that Cognito got with decoy
    /// values.
    package mutating func speakAsWrongPassword() {
        guard error == nil || error?.kind == .userNotFound else { return }
        speak(as: CognitoError(type: "NotAuthorizedException", message: "Incorrect username or password."))
    }

    /// Turns the error for a reused token into the one for a revoked token: apps that refresh with InitiateAuth do not
    /// know the former.
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
