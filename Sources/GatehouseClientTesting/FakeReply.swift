import Foundation
import GatehouseClient

/// A request as the fake gateway reads it.
struct FakeRequest {
    var method: String
    var path: String
    var bearer: String?
    var body: [String: JSONValue]

    func text(_ name: String) -> String? { body[name]?.text }
    var deviceID: String? { body["device_info"]?["device_id"]?.text }
}

/// A response of the fake gateway.
struct FakeReply {
    var status = 200
    var body: JSONValue?
    var headers: [String: String] = [:]

    static let done = FakeReply(status: 204)

    static func ok(_ members: [String: JSONValue], status: Int = 200) -> FakeReply {
        FakeReply(status: status, body: .object(members))
    }
}

/// A refusal, in the form of the gateway's errors.
struct FakeRefusal: Error {
    static let invalidToken = "Bearer error=\"invalid_token\""

    var error: GatewayError
    var challenge: String?

    init(
        _ status: Int, _ name: String, _ message: String, fields: [String: String] = [:], challenge: String? = nil,
        retryAfter: Double? = nil
    ) {
        error = GatewayError(name: name, message: message, status: status, retryAfter: retryAfter)
        error.fields = fields
        self.challenge = challenge
    }

    static let tokenMissing = FakeRefusal(
        401, "NotAuthorizedException", "Authentication is required.", challenge: "Bearer")
    static let tokenRefused = FakeRefusal(
        401, "NotAuthorizedException", "Authentication is required.", challenge: invalidToken)
    static let tokenExpired = FakeRefusal(
        401, "TokenExpiredException", "The access token has expired.", challenge: invalidToken)
    static let badCredentials = FakeRefusal(
        401, "NotAuthorizedException", "Incorrect email or password.", challenge: "Bearer")
    static let sessionEnded = FakeRefusal(
        401, "TokenRefreshException", "The session has ended. Sign in again.", challenge: "Bearer")
    static let signInEnded = FakeRefusal(
        401, "NotAuthorizedException", "This sign-in has ended. Sign in again.", challenge: "Bearer")
    static let wrongFactor = FakeRefusal(422, "CodeMismatchException", "The code is not right.")
    static let wrongCode = FakeRefusal(422, "CodeMismatchException", "The code is not right, or has expired.")
    static let passwordPolicy = FakeRefusal(
        422, "InvalidPasswordException", "The password does not meet the policy.")
    static let currentPassword = FakeRefusal(
        422, "InvalidParameterException", "The current password is not right.",
        fields: ["current_password": "is not right"])
    static let notFound = FakeRefusal(404, "NotFoundException", "There is nothing at this address.")
    static let badJSON = FakeRefusal(400, "BadRequestException", "The request body is not valid JSON.")

    static func invalid(_ fields: [String: String]) -> FakeRefusal {
        FakeRefusal(422, "InvalidParameterException", "Some fields are missing or not valid.", fields: fields)
    }

    /// - Parameter deniesSuccess: whether the call is one of Sign in with Apple's, whose errors have `success`.
    func reply(requestID: String, deniesSuccess: Bool) -> FakeReply {
        var body: [String: JSONValue] = [
            "error": .string(error.name), "message": .string(error.message),
            "statusCode": .number(Double(error.status)), "requestId": .string(requestID),
        ]
        if !error.fields.isEmpty { body["fields"] = .object(error.fields.mapValues { .string($0) }) }
        if deniesSuccess { body["success"] = false }
        var headers: [String: String] = [:]
        if error.status == 401 { headers["WWW-Authenticate"] = challenge ?? Self.invalidToken }
        if [429, 503].contains(error.status) { headers["Retry-After"] = String(Int(error.retryAfter ?? 5)) }
        return FakeReply(status: error.status, body: .object(body), headers: headers)
    }
}
