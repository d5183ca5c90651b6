internal import Cryptography
package import Encoding
internal import Pipeline
internal import Sealing

/// The body of `POST login`.
struct LoginBody: Sendable {
    var email: String
    var password: Secret
    var rememberMe: Bool
    var device: DeviceInfo?
    /// The device token from an earlier sign-in, if the pool tracks devices.
    var deviceToken: Secret?

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        email = fields.requiredText("email", atMost: 128, .address)
        password = Secret(fields.requiredText("password", atMost: 256, .password))
        rememberMe = fields.flag("remember_me", default: true)
        device = fields.device()
        deviceToken = fields.optionalText("device_token", atMost: SealedText.maximumLength, .address).map { Secret($0) }
        try fields.check()
    }

    /// The sign-in that follows a confirmation.
    init(email: String, password: Secret) {
        self.email = email
        self.password = password
        rememberMe = true
    }
}

/// The app's description of the device that it runs on.
package struct DeviceInfo: Sendable, Equatable {
    @Exact package var deviceID: String
    @Exact package var platform: String?
    @Exact var osVersion: String?
    @Exact package var appVersion: String?
    @Exact var model: String?
    @Exact package var name: String?
    @Exact package var locale: String?
    @Exact var timezone: String?

    package init(deviceID: String, platform: String? = nil) {
        self.deviceID = deviceID
        self.platform = platform
    }

    init(_ fields: inout RequestFields) {
        deviceID = fields.requiredText("device_id", atMost: 256)
        platform = fields.optionalText("platform", atMost: 256)
        if platform?.utf8.isEmpty == true { fields.refuse("platform", "must not be empty") }
        osVersion = fields.optionalText("os_version", atMost: 256)
        appVersion = fields.optionalText("app_version", atMost: 256)
        model = fields.optionalText("model", atMost: 256)
        name = fields.optionalText("name", atMost: 256)
        locale = fields.optionalText("locale", atMost: 256)
        timezone = fields.optionalText("timezone", atMost: 256)
    }
}

/// The body of `POST challenge`.
struct ChallengeBody: Sendable {
    var challenge: Challenge
    var session: Secret
    /// The code, the new password or the choice, as the challenge asks for.
    var answer: Secret
    /// With `NEW_PASSWORD_REQUIRED`: attributes that the pool wants to have.
    var attributes: [UserAttribute]
    var device: DeviceInfo?

    /// - Parameter writable: the attributes that users may set.
    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject, writable: WritableAttributes) throws(Refusal) {
        var fields = RequestFields(object)
        let challenge = fields.oneOf("challenge", Challenge.self) ?? .totp
        self.challenge = challenge
        session = Secret(fields.requiredText("session", atMost: SealedText.maximumLength, .address))
        switch challenge.answer {
        case .code: answer = Secret(fields.requiredText("code", atMost: 128, .code))
        case .newPassword: answer = Secret(fields.requiredText("new_password", atMost: 256, .password))
        case .choice: answer = Secret(fields.requiredText("answer", atMost: 64, .code))
        }
        attributes = challenge.answer == .newPassword ? fields.attributes(writable) : []
        device = fields.device()
        try fields.check()
    }
}

/// The challenges that a client of the gateway can be asked. Others belong to flows that the gateway does not start.
enum Challenge: String, Sendable, CaseIterable {
    case sms = "SMS_MFA"
    case totp = "SOFTWARE_TOKEN_MFA"
    case email = "EMAIL_OTP"
    case newPassword = "NEW_PASSWORD_REQUIRED"
    case selection = "SELECT_MFA_TYPE"
    case setUp = "MFA_SETUP"

    enum Answer { case code, newPassword, choice }

    var answer: Answer {
        switch self {
        case .sms, .totp, .email, .setUp: .code
        case .newPassword: .newPassword
        case .selection: .choice
        }
    }
}

/// The body of `POST refresh`.
struct RefreshBody: Sendable {
    var refreshToken: Secret
    var device: DeviceInfo?

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        refreshToken = Secret(fields.requiredText("refresh_token", atMost: SealedText.maximumLength))
        device = fields.device()
        try fields.check()
    }
}

/// The body of `POST logout`.
struct LogoutBody: Sendable {
    var refreshToken: Secret?
    var allDevices: Bool

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        refreshToken = fields.optionalText("refresh_token", atMost: SealedText.maximumLength).map { Secret($0) }
        allDevices = fields.flag("all_devices", default: false)
        try fields.check()
    }
}
