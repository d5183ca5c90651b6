internal import Cryptography
internal import Encoding
internal import Pipeline

/// The body of `POST register`.
struct RegisterBody: Sendable {
    var email: String
    var password: Secret
    var attributes: [UserAttribute]
    var device: DeviceInfo?

    /// - Parameter writable: the attributes that users may set.
    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject, writable: WritableAttributes) throws(Refusal) {
        var fields = RequestFields(object)
        email = fields.requiredText("email", atMost: 128, .email)
        password = Secret(fields.requiredText("password", atMost: 256, .password))
        attributes = fields.attributes(writable)
        device = fields.device()
        try fields.check()
    }
}

/// The body of `POST confirm`.
struct ConfirmBody: Sendable {
    var email: String
    var code: Secret
    /// Given, the user is signed in at once.
    var password: Secret?

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        email = fields.requiredText("email", atMost: 128, .address)
        code = Secret(fields.requiredText("code", atMost: 128, .code))
        password = fields.optionalText("password", atMost: 256, .password).map { Secret($0) }
        try fields.check()
    }
}

/// The body of `POST resend-code` and `POST forgot-password`.
struct AccountNameBody: Sendable {
    var email: String

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        email = fields.requiredText("email", atMost: 128, .address)
        try fields.check()
    }
}

/// The body of `POST reset-password`.
struct ResetPasswordBody: Sendable {
    var email: String
    var code: Secret
    var newPassword: Secret

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        email = fields.requiredText("email", atMost: 128, .address)
        code = Secret(fields.requiredText("code", atMost: 128, .code))
        newPassword = Secret(fields.requiredText("new_password", atMost: 256, .password))
        try fields.check()
    }
}

/// The body of `POST change-password`.
struct ChangePasswordBody: Sendable {
    var currentPassword: Secret
    var newPassword: Secret

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        currentPassword = Secret(fields.requiredText("current_password", atMost: 256, .password))
        newPassword = Secret(fields.requiredText("new_password", atMost: 256, .password))
        try fields.check()
    }
}

/// The body of `PATCH me`.
struct UpdateBody: Sendable {
    var attributes: [UserAttribute]

    /// - Parameter writable: the attributes that users may set.
    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject, writable: WritableAttributes) throws(Refusal) {
        var fields = RequestFields(object)
        attributes = fields.attributes(writable)
        // An address counts once it is proven, for which there is no call: better refused than half done.
        fields.refuse("email", "can not be changed here")
        try fields.check()
    }
}

/// The body of `POST mfa/totp/verify`.
struct VerifyCodeBody: Sendable {
    var code: Secret

    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        code = Secret(fields.requiredText("code", atMost: 6, .code))
        try fields.check()
    }
}

/// An attribute that a client gives a user: `name`, or one of Cognito's names.
struct UserAttribute: Sendable, Equatable {
    @Exact var name: String
    /// Empty to remove it.
    @Exact var value: String
}

extension RequestFields {
    /// The attributes of a request: the field `name`, and `attributes` by Cognito's names.
    ///
    /// - Parameter writable: the attributes that users may set; any other is a fault.
    mutating func attributes(_ writable: WritableAttributes) -> [UserAttribute] {
        var attributes: [UserAttribute] = []
        if let value = optionalText("name", atMost: 256) {
            attributes.append(UserAttribute(name: "name", value: value))
        }
        if !attributes.isEmpty, !writable.contains("name") { refuse("name", Self.notWritable) }
        guard var inner = optionalObject("attributes") else { return attributes }
        guard attributes.count + inner.count <= Self.maximumAttributes else {
            inner.refuseWhole("are too many")
            take(inner)
            return attributes
        }
        for key in inner.names {
            // No call proves a changed address.
            guard writable.contains(key), ExactText(key) != "email" else {
                inner.refuse(key, Self.notWritable)
                continue
            }
            // Null removes the attribute, as an empty value does in Cognito.
            let value = inner.optionalText(key, atMost: 2048) ?? ""
            if attributes.contains(where: { $0.name.hasSameBytes(as: key) }) {
                inner.refuse(key, "is given twice")
            } else {
                attributes.append(UserAttribute(name: key, value: value))
            }
        }
        take(inner)
        return attributes
    }

    private static let notWritable = "is not an attribute that can be set"

    /// More than Cognito's standard attributes and its 50 custom ones.
    private static let maximumAttributes = 70
}
