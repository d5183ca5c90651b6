internal import Cryptography
internal import Pipeline

/// The body of `POST login`.
struct LoginBody: Sendable {
    var email: String
    var password: Secret
    var rememberMe: Bool
    var device: DeviceInfo?

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        email = fields.requiredText("email", atMost: 128, .word)
        password = Secret(fields.requiredText("password", atMost: 256))
        rememberMe = fields.flag("remember_me", default: true)
        if var inner = fields.optionalObject("device_info") {
            device = DeviceInfo(&inner)
            fields.take(inner)
        }
        try fields.check()
    }
}

/// What an app says about the device it runs on.
struct DeviceInfo: Sendable {
    var deviceID: String
    var platform: String

    init(_ fields: inout RequestFields) {
        deviceID = fields.requiredText("device_id", atMost: 256)
        platform = fields.requiredText("platform", atMost: 256)
        for name in ["os_version", "app_version", "model", "name", "locale", "timezone"] {
            _ = fields.optionalText(name, atMost: 256)
        }
    }
}

/// The body of `POST refresh`.
struct RefreshBody: Sendable {
    var refreshToken: Secret

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        refreshToken = Secret(fields.requiredText("refresh_token", atMost: SealedRefreshToken.maximumTextLength))
        try fields.check()
    }
}

extension AccountRequest {
    /// The most bytes of a body that are looked at.
    static let maximumBodyBytes = 64 << 10

    /// The body as a JSON object.
    ///
    /// - Throws: 413 for a body over the limit, 400 for what is not JSON, 422 for JSON that is no object.
    func jsonObject() throws(Refusal) -> JSONObject {
        guard body.count <= Self.maximumBodyBytes else { throw Refusal(.payloadTooLarge, reason: "body-too-large") }
        guard Self.isJSON(contentType) else {
            throw Refusal(.badRequest, message: "The content type must be application/json.", reason: "content-type")
        }
        guard let json = try? JSON.parse(body) else {
            throw Refusal(.badRequest, message: "The request body is not valid JSON.", reason: "malformed-json")
        }
        guard let object = json.objectValue else {
            throw Refusal(
                .invalidParameter, message: "The request body must be a JSON object.", reason: "invalid-fields")
        }
        return object
    }

    /// A missing content type is taken for JSON: many small clients send none.
    private static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return true }
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        // Characters would be compared in time that grows with the square of the marks of one.
        guard type.allSatisfy({ $0 < 0x80 }) else { return false }
        let essence = String(decoding: type, as: UTF8.self).lowercased().filter { $0 != " " && $0 != "\t" }
        return essence == "application/json" || (essence.hasPrefix("application/") && essence.hasSuffix("+json"))
    }
}

extension RequestFields {
    fileprivate func check() throws(Refusal) {
        guard faults.isEmpty else { throw Refusal(.invalidParameter, fields: faults, reason: "invalid-fields") }
    }
}
