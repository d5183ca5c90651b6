internal import Accounts
internal import Cryptography
internal import Encoding
internal import Pipeline

/// The body of `POST apple`.
struct AppleSignInBody: Sendable {
    var identityToken: Secret
    var nonce: Secret
    /// The user's name from the app. Apple's tokens never contain it, and apps learn it at the first sign-in only.
    var name: String?
    var userIdentifier: String?
    var authorizationCode: Secret?
    var device: DeviceInfo?

    /// The e-mail address that the app names is checked for its form and then left alone: only Apple's word counts.
    ///
    /// - Parameter tokenLimit: the most bytes of an identity token that are looked at.
    /// - Throws: a 422 naming every faulty field.
    init(_ object: JSONObject, tokenLimit: Int = TokenVerifier.defaultMaximumTokenBytes) throws(Refusal) {
        var fields = RequestFields(object)
        identityToken = Secret(fields.requiredText("identity_token", atMost: tokenLimit, .address))
        nonce = Secret(fields.requiredText("nonce", atMost: 512, .address))
        _ = fields.optionalText("email", atMost: 320)
        name = Self.trimmed(fields.optionalText("name", atMost: 256, .name))
        userIdentifier = fields.optionalText("userIdentifier", atMost: 255)
        authorizationCode = fields.optionalText("authorization_code", atMost: 2048, .address).map { Secret($0) }
        device = fields.device()
        try fields.check()
        if authorizationCode?.isEmpty == true { authorizationCode = nil }
    }

    /// The name without outer white space; nil if nothing is left.
    private static func trimmed(_ name: String?) -> String? {
        guard let scalars = name?.unicodeScalars else { return nil }
        let front = scalars.drop { $0.properties.isWhitespace }
        let blanks = front.reversed().prefix { $0.properties.isWhitespace }.count
        let text = String(String.UnicodeScalarView(front.dropLast(blanks)))
        return text.isEmpty ? nil : text
    }
}

/// The body of `POST apple/notifications`, as Apple sends it.
struct AppleNotificationBody: Sendable {
    /// A JWS.
    var payload: Secret

    /// - Throws: a 422 naming the faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        payload = Secret(fields.requiredText("payload", atMost: 16_384, .address))
        try fields.check()
    }
}
