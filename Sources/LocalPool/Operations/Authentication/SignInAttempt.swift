internal import Encoding

/// A sign-in in progress: the state that later steps need.
struct SignInAttempt: Sendable {
    var clientID: String
    /// The device key that the client sent.
    var deviceKey: String?
    /// Whether a second factor was verified, or a remembered device in its place.
    var hasSecondFactor = false
    /// Whether the sign-in is on the hosted pages, which return a code instead of tokens.
    var isHosted = false

    init(clientID: String, deviceKey: String?, hasSecondFactor: Bool = false, isHosted: Bool = false) {
        self.isHosted = isHosted
        self.clientID = clientID
        self.deviceKey = deviceKey
        self.hasSecondFactor = hasSecondFactor
    }

    /// The attempt that a challenge belongs to.
    init(_ challenge: ChallengeRecord) {
        self.init(
            clientID: challenge.clientID, deviceKey: challenge.data["device_key"]?.stringValue,
            hasSecondFactor: challenge.data["has_second_factor"]?.boolValue ?? false,
            isHosted: challenge.data["is_hosted"]?.boolValue ?? false)
    }

    /// The state that a challenge stores for the rest of the attempt.
    var data: JSONObject {
        var data: JSONObject = ["has_second_factor": .bool(hasSecondFactor)]
        if let deviceKey { data["device_key"] = .string(deviceKey) }
        if isHosted { data["is_hosted"] = true }
        return data
    }
}

/// The next step of a sign-in.
enum SignInStep: Sendable {
    /// The complete response.
    case challenge(JSONObject)
    /// The user of a hosted sign-in has passed all steps.
    case proven
    case session(RefreshTokenRecord, token: String, newDevice: DeviceRecord?)
    /// Returned instead of thrown if throwing would roll back the count of attempts.
    case refusal(PoolError)
}
