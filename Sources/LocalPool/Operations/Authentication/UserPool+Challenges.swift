internal import Cryptography
package import Encoding
internal import GRDB
internal import Store

extension UserPool {
    private static let challengeNames = [
        "SMS_MFA", "EMAIL_OTP", "SOFTWARE_TOKEN_MFA", "SELECT_MFA_TYPE", "MFA_SETUP", "PASSWORD_VERIFIER",
        "CUSTOM_CHALLENGE", "SELECT_CHALLENGE", "DEVICE_SRP_AUTH", "DEVICE_PASSWORD_VERIFIER", "ADMIN_NO_SRP_AUTH",
        "NEW_PASSWORD_REQUIRED", "SMS_OTP", "PASSWORD", "WEB_AUTHN", "PASSWORD_SRP",
    ]

    /// RespondToAuthChallenge and AdminRespondToAuthChallenge.
    package func respondToAuthChallenge(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let name = try fields.required("ChallengeName")
        let client = try client(fields)
        let responses = try fields.map("ChallengeResponses")
        switch name {
        case "PASSWORD_VERIFIER": return try await verifyPassword(responses, client)
        case "DEVICE_SRP_AUTH":
            return try await startDeviceSRP(responses, client, session: try fields.optional("Session"))
        case "DEVICE_PASSWORD_VERIFIER": return try await verifyDevice(responses, client)
        default: break
        }
        let answer = try ChallengeAnswer(name, fields, responses, client)
        switch name {
        case "SMS_MFA", "EMAIL_OTP", "SMS_OTP", "SOFTWARE_TOKEN_MFA": return try await verifyCode(answer)
        case "SELECT_CHALLENGE": return try await selectFactor(answer, client)
        case "PASSWORD": return try await answerPassword(answer, client)
        case "PASSWORD_SRP": return try await answerPasswordSRP(answer, client)
        case "WEB_AUTHN": return try await verifyPasskey(answer)
        case "CUSTOM_CHALLENGE": return try await answerCustom(answer)
        case "SELECT_MFA_TYPE": return try await selectSecondFactor(answer)
        case "MFA_SETUP": return try await setUpSecondFactor(answer)
        case "NEW_PASSWORD_REQUIRED": return try await setNewPassword(answer)
        case let name where Self.challengeNames.contains(name): throw PoolError.invalidSession
        default:
            throw RequestFields.violation(
                "Value at 'challengeName'",
                "Member must satisfy enum value set: [\(Self.challengeNames.joined(separator: ", "))]")
        }
    }

    /// Takes the challenge that is answered, if it belongs to this user and client.
    func take(
        _ answer: ChallengeAnswer, in database: Database, now: Int64
    ) throws -> (challenge: ChallengeRecord, user: UserRecord) {
        let challenge = try ChallengeRecord.take(answer.session, in: database, now: now)
        guard challenge.name == answer.name, challenge.clientID == answer.clientID,
            let user = try UserRecord.find(answer.username, in: database), user.sub == challenge.sub
        else { throw PoolError.invalidSession }
        guard user.isEnabled else { throw PoolError.userDisabled }
        return (challenge, user)
    }
}

/// An answer to a challenge that came with a session.
struct ChallengeAnswer: Sendable {
    let name: String
    let session: String
    let clientID: String
    let username: String
    let responses: RequestFields

    init(
        _ name: String, _ fields: RequestFields, _ responses: RequestFields, _ client: ClientAuthentication
    ) throws(PoolError) {
        self.name = name
        self.responses = responses
        clientID = client.clientID
        username = try responses.parameter("USERNAME", maximum: 128)
        try client.checkSecretHash(try responses.optional("SECRET_HASH"), username: username)
        guard let session = try fields.optional("Session") else {
            throw .invalidParameter("Missing required parameter Session")
        }
        guard (20...2048).contains(session.unicodeScalars.count) else {
            throw RequestFields.violation(
                "Value at 'session'", "Member must have length between 20 and 2048, inclusive")
        }
        self.session = session
    }
}
