internal import Encoding

/// A sign-in on its way: what the steps after the first one need to know.
struct SignInAttempt: Sendable {
    var clientID: String
    /// As the client gave it.
    var deviceKey: String?
    /// Whether a second factor, or a remembered device in its place, has been proved.
    var hasSecondFactor = false
    /// Whether it is on the hosted pages: they give a code in place of tokens.
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
    /// The whole answer.
    case challenge(JSONObject)
    /// The user of a hosted sign-in has proven everything.
    case proven
    case session(RefreshTokenRecord, token: String, newDevice: DeviceRecord?)
    /// Returned and not thrown where throwing would undo what was counted.
    case refusal(PoolError)
}
