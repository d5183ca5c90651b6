package import Cryptography
package import Encoding
internal import Pipeline

/// Cognito's response to a sign-in or refresh: tokens or a challenge.
package enum AuthenticationAnswer: Sendable {
    case tokens(AuthenticationResult)
    case challenge(AuthenticationChallenge)

    /// - Returns: nil for an output that contains neither tokens nor a challenge.
    package init?(_ output: JSONObject) {
        if let result = output["AuthenticationResult"]?.objectValue.flatMap(AuthenticationResult.init) {
            self = .tokens(result)
        } else if let challenge = AuthenticationChallenge(output) {
            self = .challenge(challenge)
        } else {
            return nil
        }
    }

    /// The claims of the access token, unverified; nil for a challenge or an unreadable token.
    package var accessClaims: JSONObject? {
        switch self {
        case .tokens(let result): result.accessClaims
        case .challenge: nil
        }
    }
}

/// Cognito's `AuthenticationResult`.
package struct AuthenticationResult: Sendable {
    package let accessToken: Secret
    package let idToken: Secret?
    /// nil after a refresh without rotation.
    package var refreshToken: Secret?
    /// The lifetime of the access token in seconds.
    package var expiresIn: Int64
    /// The claims of the access token: see ``claims(of:)``.
    package let accessClaims: JSONObject?
    /// The claims of the ID token: see ``claims(of:)``.
    package let idClaims: JSONObject?
    /// The keys of a device that the pool began to track with this sign-in.
    package var newDevice: NewDevice?

    package struct NewDevice: Sendable, Equatable {
        @Exact package var key: String
        @Exact var groupKey: String
    }

    package init(accessToken: Secret, idToken: Secret?, refreshToken: Secret?, expiresIn: Int64) {
        self.accessToken = accessToken
        self.idToken = idToken
        self.refreshToken = refreshToken
        self.expiresIn = expiresIn
        accessClaims = Self.claims(of: accessToken)
        idClaims = idToken.flatMap(Self.claims)
    }

    init?(_ object: JSONObject) {
        guard let accessToken = object["AccessToken"]?.stringValue,
            let expiresIn = Self.lifetime(object["ExpiresIn"])
        else { return nil }
        self.init(
            accessToken: Secret(accessToken), idToken: object["IdToken"]?.stringValue.map { Secret($0) },
            refreshToken: object["RefreshToken"]?.stringValue.map { Secret($0) }, expiresIn: expiresIn)
        if let device = object["NewDeviceMetadata"]?.objectValue, let key = device["DeviceKey"]?.stringValue,
            let groupKey = device["DeviceGroupKey"]?.stringValue
        {
            newDevice = NewDevice(key: key, groupKey: groupKey)
        }
    }

    /// Returns the lifetime of an access token in seconds; nil if it is missing or out of range.
    static func lifetime(_ seconds: JSON?) -> Int64? {
        guard let seconds = seconds?.integerValue, (0...CognitoSignInSettings.longestAccessToken).contains(seconds)
        else { return nil }
        return seconds
    }

    /// Decodes the payload of a token without checking the signature.
    ///
    /// The tokens come from Cognito's own response over a connection whose certificate was verified, so their origin is
    /// proven (OpenID Connect Core 3.1.3.7, 6. allows the same). Their claims are only shown to the user they belong to
    /// or sent back to Cognito. They grant no access: that requires the pipeline's verification.
    private static func claims(of token: Secret) -> JSONObject? {
        let token = token.expose()
        let (bytes, dot) = (token.span, UInt8(ascii: "."))
        guard let header = bytes.firstIndex(of: dot), let payload = bytes.firstIndex(of: dot, from: header + 1),
            bytes.firstIndex(of: dot, from: payload + 1) == nil,
            let claims = Base64URL.decode(bytes.extracting(header + 1..<payload))
        else { return nil }
        return (try? JSON.parse(claims))?.objectValue
    }
}

/// A challenge that must be answered before Cognito issues tokens.
package struct AuthenticationChallenge: Sendable {
    package var name: String
    /// nil if the next step needs no session.
    package var session: Secret?
    var parameters: JSONObject

    init(name: String, session: Secret?, parameters: JSONObject) {
        self.name = name
        self.session = session
        self.parameters = parameters
    }

    init?(_ output: JSONObject) {
        guard let name = output["ChallengeName"]?.stringValue else { return nil }
        self.name = name
        session = output["Session"]?.stringValue.map { Secret($0) }
        parameters = output["ChallengeParameters"]?.objectValue ?? [:]
    }

    /// Returns whether the challenge has this name in Cognito's API.
    func isNamed(_ name: String) -> Bool { self.name.hasSameBytes(as: name) }

    /// The pool's internal user name, which the `SECRET_HASH` of the response is computed over.
    package var username: String? {
        parameters["USERNAME"]?.stringValue ?? parameters["USER_ID_FOR_SRP"]?.stringValue
    }

    /// The parameters a client needs, under the API's names. Cognito encodes lists in them as JSON strings.
    ///
    /// `USERNAME` and `USER_ID_FOR_SRP` are omitted: they are the pool's internal names of the user.
    package var clientParameters: JSONObject {
        var shown: JSONObject = [:]
        shown["destination"] = parameters["CODE_DELIVERY_DESTINATION"]
        shown["delivery_medium"] = parameters["CODE_DELIVERY_DELIVERY_MEDIUM"]
        shown["device_name"] = parameters["FRIENDLY_DEVICE_NAME"]
        shown["methods"] = list("MFAS_CAN_CHOOSE") ?? list("MFAS_CAN_SETUP")
        shown["required_attributes"] = requiredAttributes
        return shown
    }

    /// The required attributes without the prefix that Cognito puts before each name.
    private var requiredAttributes: JSON? {
        guard let names = list("requiredAttributes")?.arrayValue else { return nil }
        return .array(
            names.map { name in
                guard let text = name.stringValue, text.begins(with: Self.attributePrefix) else { return name }
                return .string(String(Substring(text.utf8.dropFirst(Self.attributePrefix.utf8.count))))
            })
    }

    /// The prefix of an attribute's name in NEW_PASSWORD_REQUIRED and in the response to it.
    package static let attributePrefix = "userAttributes."

    /// The request options for the passkey authenticator (PublicKeyCredentialRequestOptionsJSON).
    package var passkeyOptions: JSONObject? {
        guard let text = parameters["CREDENTIAL_REQUEST_OPTIONS"]?.stringValue else { return nil }
        return (try? JSON.parse(Array(text.utf8)))?.objectValue
    }

    /// The public parameters of a custom challenge; nil if they exceed the gateway's limits: at most 20 texts, names of
    /// at most 64 bytes, values of at most 2048.
    package var customParameters: JSONObject? {
        var shown: JSONObject = [:]
        for (name, value) in parameters where !["USERNAME", "USER_ID_FOR_SRP"].contains(ExactText(name)) {
            guard let text = value.stringValue, name.utf8.count <= 64, text.utf8.count <= 2048, shown.count < 20 else {
                return nil
            }
            shown[name] = value
        }
        return shown
    }

    private func list(_ name: String) -> JSON? {
        guard let text = parameters[name]?.stringValue, let list = try? JSON.parse(Array(text.utf8)),
            list.arrayValue != nil
        else { return nil }
        return list
    }
}
