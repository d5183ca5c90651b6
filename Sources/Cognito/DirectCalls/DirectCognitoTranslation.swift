internal import Cryptography
package import Encoding
internal import Pipeline

/// A call as it is sent to Cognito.
package struct TranslatedCall: Sendable {
    package var operation: String
    package var input: JSONObject
    /// The call to send if Cognito refuses a refresh token for the configured client: the call of the former client,
    /// which needs no secret. It keeps sessions alive that began before the app client had a secret.
    package var asFormerClient: JSONObject?
    /// The account that the call names: the typed name, or Cognito's internal name of the user.
    package var account: String?
    /// The claims of the access token in the call. They prove nothing until ``DirectCognitoPool/verify`` has accepted
    /// the token, or Cognito has.
    package var claims: JSONObject?
    package var claimed: (subject: String?, originID: String?) {
        (claims?["sub"]?.stringValue, claims?["origin_jti"]?.stringValue)
    }
    /// The time of the sign-in by the same claims, in seconds since 1970.
    package var signedInAt: Int64? { claims?["auth_time"]?.numberValue?.numericDate }
    /// A digest of the access or refresh token in the call.
    package var tokenDigest: String?
    /// A digest of the refresh token in the call.
    package var refreshDigest: String? {
        (input["RefreshToken"] ?? input["Token"])?.stringValue.flatMap { _ in tokenDigest }
    }
    /// The key of the tracked device in the call.
    package var deviceKey: String?
    /// Digests of the sign-in step that the call continues.
    package var shownDigests: [String] = []
    /// Whether the call has decoy values in place of the account's.
    package var isDecoy = false
    /// Whether the caller refreshed with InitiateAuth, an older operation than the one sent.
    package var isTranslatedRefresh = false

    package init(_ operation: String, _ input: JSONObject) {
        self.operation = operation
        self.input = input
    }
}

/// Translates the calls of an app without the client secret into calls that Cognito accepts from the app client's
/// owner.
///
/// The body is parsed strictly, so that the gateway and Cognito read the same: no duplicate names, no lone surrogates,
/// at most 64 KiB, and at most the depth of a genuine call.
package struct DirectCognitoTranslation: Sendable {
    let pool: DirectCognitoPool

    package init(pool: DirectCognitoPool) {
        self.pool = pool
    }

    static let maximumBodyBytes = 64 << 10
    static let limits = JSONLimits(maximumBytes: maximumBodyBytes, maximumDepth: 8)

    /// The flows with USERNAME among their parameters, over which the secret hash is computed.
    private static let flowsWithUsername: Set<ExactText> = [
        "USER_PASSWORD_AUTH", "USER_SRP_AUTH", "CUSTOM_AUTH", "USER_AUTH",
    ]

    package static func input(_ body: [UInt8]) throws(DirectCognitoRefusal) -> JSONObject {
        guard body.count <= maximumBodyBytes else { throw .tooLarge }
        guard let input = (try? JSON.parse(body, limits: limits))?.objectValue else { throw .malformed }
        return input
    }

    /// Translates one call.
    ///
    /// - Parameter clientAddress: the address that the gateway trusts.
    package func call(
        _ operation: String, _ input: JSONObject, clientAddress: String
    ) throws(DirectCognitoRefusal) -> TranslatedCall {
        guard let proof = ClientOperation.proof(of: operation) else { throw .notCarriedOut }
        try checkAttributes(operation, input)
        let input = try withListedMetadata(input)
        var call = TranslatedCall(operation, input)
        switch proof {
        case .secretHash:
            try addHash(to: &call, of: text("Username", in: input), as: "SecretHash")
            // SignUp creates a name, which is not an account's yet.
            if ExactText(operation) != "SignUp" { refuseName(in: &call) }
        case .authParameters: try addToSignIn(&call)
        case .challengeResponses:
            try addHash(among: "ChallengeResponses", to: &call)
            call.shownDigests = pool.stepDigests(shown: input)
        case .clientSecret: try addSecret(to: &call)
        case .accessToken: try checkToken(&call)
        case .accessTokenOrSession:
            if input["AccessToken"] != nil { try checkToken(&call) }
            call.shownDigests = pool.stepDigests(shown: input)
        }
        setContext(&call.input, sentAs: input["ClientId"]?.stringValue, clientAddress)
        return call
    }

    // MARK: The secret

    private func addToSignIn(_ call: inout TranslatedCall) throws(DirectCognitoRefusal) {
        let flow = ExactText(try text("AuthFlow", in: call.input))
        if flow == "REFRESH_TOKEN_AUTH" || flow == "REFRESH_TOKEN" { return try makeRefresh(&call) }
        guard Self.flowsWithUsername.contains(flow) else {
            throw .invalid("AuthFlow", "is not supported through this gateway")
        }
        try addHash(among: "AuthParameters", to: &call)
        refuseName(in: &call)
    }

    /// Replaces a name that users may not sign in with by one that no user has: Cognito responds as for an unknown
    /// user.
    private func refuseName(in call: inout TranslatedCall) {
        let accepted = pool.settings.acceptedNames
        guard let typed = call.account, AccountNameKind(typed).map(accepted.contains) != true else { return }
        replaceName(in: &call)
    }

    /// Replaces the user's name by one that no user has.
    func replaceName(in call: inout TranslatedCall) {
        let username = Decoy.username()
        guard var parameters = call.input["AuthParameters"]?.objectValue else {
            call.input["Username"] = .string(username)
            call.input["SecretHash"] = hash(username)
            return
        }
        parameters["USERNAME"] = .string(username)
        parameters["SECRET_HASH"] = hash(username)
        call.input["AuthParameters"] = .object(parameters)
    }

    /// Translates REFRESH_TOKEN_AUTH, which requires a hash over the user's real name. The app sends that name nowhere.
    /// GetTokensFromRefreshToken takes the secret itself, whether or not the pool rotates refresh tokens.
    private func makeRefresh(_ call: inout TranslatedCall) throws(DirectCognitoRefusal) {
        let parameters = try object("AuthParameters", in: call.input)
        var input: JSONObject = ["RefreshToken": .string(try text("REFRESH_TOKEN", in: parameters))]
        input["ClientId"] = call.input["ClientId"]
        input["DeviceKey"] = parameters["DEVICE_KEY"]
        input["ClientMetadata"] = call.input["ClientMetadata"]
        call = TranslatedCall("GetTokensFromRefreshToken", input)
        call.isTranslatedRefresh = true
        try addSecret(to: &call)
    }

    private func addSecret(to call: inout TranslatedCall) throws(DirectCognitoRefusal) {
        let sentAs = try text("ClientId", in: call.input)
        try setClient(&call.input)
        var former = call.input
        call.tokenDigest = (call.input["RefreshToken"] ?? call.input["Token"])?.stringValue.map(Self.digest)
        call.input["ClientSecret"] = pool.settings.clientSecret.map { .string($0.exposeText()) }
        guard !sentAs.hasSameBytes(as: pool.settings.clientID) else { return }
        former["ClientId"] = .string(sentAs)
        former["ClientSecret"] = nil
        call.asFormerClient = former
    }

    private func addHash(among name: String, to call: inout TranslatedCall) throws(DirectCognitoRefusal) {
        var parameters = try object(name, in: call.input)
        let username = try text("USERNAME", in: parameters, of: name)
        parameters["SECRET_HASH"] = hash(username)
        call.deviceKey = parameters["DEVICE_KEY"]?.stringValue
        call.input[name] = .object(parameters)
        call.account = username
        try setClient(&call.input)
    }

    package static func digest(_ token: String) -> String { Base64URL.encode(SHA256.hash(Array(token.utf8))) }

    private func addHash(
        to call: inout TranslatedCall, of username: String, as name: String
    ) throws(DirectCognitoRefusal) {
        call.input[name] = hash(username)
        call.account = username
        try setClient(&call.input)
    }

    private func hash(_ username: String) -> JSON? {
        pool.settings.clientSecret.map {
            .string(secretHash(username: username, clientID: pool.settings.clientID, clientSecret: $0))
        }
    }

    private func setClient(_ input: inout JSONObject) throws(DirectCognitoRefusal) {
        guard pool.knows(clientID: try text("ClientId", in: input)) else { throw .unknownClient }
        input["ClientId"] = .string(pool.settings.clientID)
    }

    // MARK: Tokens

    /// Refuses tokens of other pools and other app clients. Nothing is verified yet.
    private func checkToken(_ call: inout TranslatedCall) throws(DirectCognitoRefusal) {
        let token = try text("AccessToken", in: call.input)
        guard let claims = pool.claims(of: token) else { throw .foreignToken }
        call.claims = claims
        call.tokenDigest = Self.digest(token)
    }

    // MARK: Context

    /// Sets the user's address. Cognito trusts an address that comes with the client secret, so the address sent by the
    /// app is always replaced or removed. The app's device data is signed with the client ID that the app knows, and is
    /// removed if that is not the configured client's.
    private func setContext(_ input: inout JSONObject, sentAs client: String?, _ address: String) {
        var context = input["UserContextData"]?.objectValue ?? [:]
        context["IpAddress"] = pool.settings.propagateClientAddress && client != nil ? .string(address) : nil
        if client?.hasSameBytes(as: pool.settings.clientID) != true { context["EncodedData"] = nil }
        input["UserContextData"] = context.isEmpty || Self.hasNoContext(input) ? nil : .object(context)
    }

    /// Returns whether the operation has no `UserContextData`.
    private static func hasNoContext(_ input: JSONObject) -> Bool {
        input["AccessToken"] != nil || input["RefreshToken"] != nil || input["Token"] != nil
    }

    private func text(
        _ name: String, in object: JSONObject, of parent: String? = nil
    ) throws(DirectCognitoRefusal) -> String {
        let path = parent.map { "\($0).\(name)" } ?? name
        guard let text = object[name]?.stringValue, !text.isEmpty else { throw .invalid(path, "is required") }
        // The longest text, a token, has a few thousand bytes.
        guard text.utf8.count <= 16 << 10, text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { throw .invalid(path, "is not valid") }
        return text
    }

    private func object(_ name: String, in object: JSONObject) throws(DirectCognitoRefusal) -> JSONObject {
        guard let inner = object[name]?.objectValue else { throw .invalid(name, "is required") }
        return inner
    }
}
