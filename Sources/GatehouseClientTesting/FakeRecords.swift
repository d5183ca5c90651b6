import Foundation
import GatehouseClient

/// A user of the fake gateway's pool, or one who signs in with Apple.
struct FakeUser {
    var id: String
    var email: String
    var password = ""
    var name: String?
    var groups: [String] = []
    var attributes: [String: String] = [:]
    var phoneNumber: String?
    var isConfirmed = true
    /// The code of a registration or a forgotten password, until it is used.
    var code: String?
    /// The code of a sign-in without a password, until it is used.
    var signInCode: String?
    /// The codes of changes of `email` and `phone_number`, until they are used.
    var contactCodes: [String: String] = [:]
    /// Which of `email` and `phone_number` a code has verified, beside the e-mail address of the registration.
    var verified: Set<String> = ["email"]
    /// The identifiers of the passkeys, the oldest first.
    var passkeys: [String] = []
    /// The key of an authenticator app, and whether it was verified.
    var authenticator: (secret: String, isVerified: Bool)?
    var asksForAuthenticator = false
    var lastAuthenticatorCode: String?

    var json: JSONValue {
        var members = attributes.mapValues { JSONValue.string($0) }
        let number = "phone_number"
        if members[number] != nil { members[number + "_verified"] = .bool(verified.contains(number)) }
        return .object([
            "id": .string(id), "email": .string(email),
            "email_verified": .bool(isConfirmed && verified.contains("email")),
            "name": name.map { .string($0) } ?? .null, "username": .string(id),
            "groups": .array(groups.map { .string($0) }),
            "attributes": .object(members),
        ])
    }

    /// The address or number; empty if there is none.
    func contact(_ name: String) -> String { name == "email" ? email : attributes[name] ?? "" }

    /// The form of the calls of Sign in with Apple.
    var sessionJSON: JSONValue {
        .object([
            "id": .string(id), "email": .string(email), "name": name.map { .string($0) } ?? .null,
            "phoneNumber": phoneNumber.map { .string($0) } ?? .null, "role": "customer",
        ])
    }
}

struct FakeSession {
    var id: String
    var userID: String
    var isApple: Bool
    var device: JSONValue
    var signedInAt: Date
    var lastUsedAt: Date
    /// When the newest token was made.
    var refreshedAt: Date
    var endsAt: Date
    var isEnded = false
    /// The number of the newest token. It grows with each refresh.
    var generation = 0
    /// The newest token: what the parent gets once more.
    var newest: String

    var deviceID: String? { device["device_id"]?.text }
}

/// The meaning of one of the fake gateway's tokens.
struct FakeToken {
    var sessionID: String
    var generation: Int
    var endsAt: Date
}

/// All that the fake gateway stores.
struct FakeState {
    var users: [String: FakeUser] = [:]
    var sessions: [String: FakeSession] = [:]
    var accessTokens: [String: FakeToken] = [:]
    var refreshTokens: [String: FakeToken] = [:]
    /// The user's id of each sign-in that waits for a code.
    var challenges: [String: String] = [:]
    /// The user's id of each challenge that a passkey has not answered.
    var passkeyChallenges: [String: String] = [:]
    /// The code of the last message to each address and number.
    var messages: [String: String] = [:]
    var nonces: Set<String> = []
    /// Apple's identity tokens that were not used yet: the user's id and the hash of the nonce.
    var appleCredentials: [String: (userID: String, hashedNonce: String)] = [:]
    var requests: [String: Int] = [:]
    var faults: [(path: String?, fault: Fault)] = []
    var serial = 0

    mutating func next() -> Int {
        serial += 1
        return serial
    }

    /// The id of a user of the pool with this address.
    func userID(_ email: String?) -> String? {
        users.values.first { !$0.password.isEmpty && $0.email == email }?.id
    }

    func openSessions(of userID: String, at now: Date) -> [FakeSession] {
        sessions.values.filter { $0.userID == userID && !$0.isEnded && $0.endsAt > now }
    }

    mutating func end(userID: String, but sessionID: String? = nil) {
        for (id, session) in sessions where session.userID == userID && id != sessionID {
            sessions[id]?.isEnded = true
        }
    }
}
