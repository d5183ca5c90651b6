package import Cryptography
package import Encoding
internal import Pipeline

/// Cognito's response to a sign-in or refresh: tokens, or a challenge first.
package enum AuthenticationAnswer: Sendable {
    case tokens(AuthenticationResult)
    case challenge(AuthenticationChallenge)

    /// - Returns: `nil` for an output that is neither.
    package init?(_ output: JSONObject) {
        if let result = output["AuthenticationResult"]?.objectValue.flatMap(AuthenticationResult.init) {
            self = .tokens(result)
        } else if let challenge = AuthenticationChallenge(output) {
            self = .challenge(challenge)
        } else {
            return nil
        }
    }

    /// The claims of the access token, unverified; nil without one.
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
    /// Absent from a refresh that did not rotate.
    package var refreshToken: Secret?
    /// Life of the access token in seconds.
    package var expiresIn: Int64
    /// The claims of the access token: see ``claims(of:)``.
    package let accessClaims: JSONObject?
    /// The claims of the ID token: see ``claims(of:)``.
    package let idClaims: JSONObject?
    /// The keys of a device that the pool has begun to track by this sign-in.
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

    /// The life of an access token in seconds; nil for one that Cognito gives none.
    static func lifetime(_ seconds: JSON?) -> Int64? {
        guard let seconds = seconds?.integerValue, (0...CognitoSignInSettings.longestAccessToken).contains(seconds)
        else { return nil }
        return seconds
    }

    /// The payload of a token, its signature unchecked.
    ///
    /// These tokens came in Cognito's own answer over a connection whose certificate was checked, so their origin is
    /// proven (OpenID Connect Core 3.1.3.7, 6. allows the same), and what is read from them is only shown to the user
    /// they belong to or sent back to Cognito. No access is granted on it: that takes the pipeline's verification.
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

/// A question that Cognito wants answered before it gives tokens.
package struct AuthenticationChallenge: Sendable {
    package var name: String
    /// Missing where the next step needs none.
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

    /// Whether it is the one that Cognito calls so.
    func isNamed(_ name: String) -> Bool { self.name.hasSameBytes(as: name) }

    /// The user's name inside the pool, which answers are hashed with.
    package var username: String? {
        parameters["USERNAME"]?.stringValue ?? parameters["USER_ID_FOR_SRP"]?.stringValue
    }

    /// The parameters a client needs, under the API's names. Cognito puts lists into them as JSON in a string.
    ///
    /// `USERNAME` and `USER_ID_FOR_SRP` are left out: they name the user inside the pool.
    package var clientParameters: JSONObject {
        var shown: JSONObject = [:]
        shown["destination"] = parameters["CODE_DELIVERY_DESTINATION"]
        shown["delivery_medium"] = parameters["CODE_DELIVERY_DELIVERY_MEDIUM"]
        shown["device_name"] = parameters["FRIENDLY_DEVICE_NAME"]
        shown["methods"] = list("MFAS_CAN_CHOOSE") ?? list("MFAS_CAN_SETUP")
        shown["required_attributes"] = requiredAttributes
        return shown
    }

    /// The attributes under the names that an answer gives them by. Cognito puts the prefix of its own answers before
    /// each.
    private var requiredAttributes: JSON? {
        guard let names = list("requiredAttributes")?.arrayValue else { return nil }
        return .array(
            names.map { name in
                guard let text = name.stringValue, text.begins(with: Self.attributePrefix) else { return name }
                return .string(String(Substring(text.utf8.dropFirst(Self.attributePrefix.utf8.count))))
            })
    }

    /// Of an attribute in the answer to NEW_PASSWORD_REQUIRED.
    package static let attributePrefix = "userAttributes."

    /// The options for the authenticator (PublicKeyCredentialRequestOptionsJSON).
    package var passkeyOptions: JSONObject? {
        guard let text = parameters["CREDENTIAL_REQUEST_OPTIONS"]?.stringValue else { return nil }
        return (try? JSON.parse(Array(text.utf8)))?.objectValue
    }

    /// The public parameters of a custom challenge; nil for more than a client of the gateway is shown.
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
