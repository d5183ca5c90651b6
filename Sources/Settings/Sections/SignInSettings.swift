internal import Cryptography
package import Pipeline
internal import SettingsReader

/// The account endpoints that the gateway serves itself.
package struct SignInSettings: Sendable {
    /// Nil disables the endpoints of Cognito: their paths are then ordinary routes.
    package var cognito: CognitoSettings?
    /// Further pools, distinguished from the first one by path or host.
    var morePools: [CognitoSettings]
    /// Nil disables the endpoints of Apple.
    package var apple: AppleSettings?
    /// Whether the file has a user pool here, even an invalid one.
    var namesPool = false

    /// All pools, beginning with the first one.
    package var pools: [CognitoSettings] { [cognito].compactMap { $0 } + morePools }
}

/// A section `sign_in.cognito`: the sign-in of users and related features.
package struct CognitoSettings: Sendable {
    /// The name of the pool's issuer.
    package var issuer: String
    /// The AWS region of the pool.
    package var region: String
    /// The prefix of the endpoints' paths, such as `/api/v1/auth`.
    package var prefix: String
    /// The hosts whose requests belong to this pool, in lower case; empty: the hosts that no other pool names.
    package var hosts: [String]
    /// The URL of Cognito's API; by default derived from the issuer's region.
    package var endpoint: ServiceURL
    package var signIn: CognitoSignInSettings
    /// The attributes that access depends on: see ``GatewaySettings/settleWritableAttributes(_:)``.
    package var decidingAttributes: [String] = []
    /// The first key seals, all keys open. Empty: a key is generated once and stored in the state directory.
    package var sealingKeys: [SealingKeySettings]
    package var crossOrigin: CrossOrigin?
    /// The writable attributes as the file has them; nil after they are resolved.
    var attributes: WritableAttributeSettings?
}

extension SignInSettings {
    init(reading keys: SettingsMapping, known: KnownNames) {
        let first = keys.optional("cognito")
        cognito = first?.section { CognitoSettings(reading: $0, known: known) } ?? nil
        let more = keys.optional("more_pools").flatMap { $0.elements(expected: "pools like sign_in.cognito") } ?? []
        morePools = []
        apple = nil
        namesPool = first != nil || !more.isEmpty
        for element in more {
            guard let pool = element.section({ CognitoSettings(reading: $0, known: known) }) ?? nil else {
                continue
            }
            if let error = Self.clash(of: pool, with: pools) { element.error(error) }
            morePools.append(pool)
        }
        let node = keys.optional("apple")
        apple = node?.section { AppleSettings(reading: $0, known: known) } ?? nil
        if let apple, pools.contains(where: { $0.prefix == apple.prefix }) {
            node?.error("has the prefix \(apple.prefix) of a user pool")
        }
    }

    /// The reason why this pool conflicts with another; nil if it does not. Pools with the same prefix share their
    /// routes.
    private static func clash(
        of pool: CognitoSettings, with others: [CognitoSettings]
    ) -> String? {
        for other in others where other.prefix == pool.prefix {
            if pool.hosts.isEmpty, other.hosts.isEmpty {
                return "has the prefix \(pool.prefix) of another pool: give one of them another prefix, or hosts"
            }
            if let host = pool.hosts.first(where: other.hosts.contains) {
                return "another pool with the prefix \(pool.prefix) has the host \(host)"
            }
            if pool.crossOrigin != other.crossOrigin {
                return "another pool with the prefix \(pool.prefix) has another cors: give both the same, or one of "
                    + "them another prefix"
            }
        }
        return nil
    }
}

extension CognitoSettings {
    fileprivate init?(reading keys: SettingsMapping, known: KnownNames) {
        let issuer = keys.required("issuer", .reference(to: "issuer", among: known.issuers))
            .flatMap(known.issuer(named:))
        let pool = issuer.flatMap(keys.pool(of:))
        let clientID = keys.clientID(of: issuer)
        let secret = keys.clientSecret()
        let endpoint = keys.cognitoEndpoint(of: pool, issuer: issuer?.name)
        let prefix = keys.value("prefix", .pathPrefix, default: "/api/v1/auth")
        let hosts = keys.list("hosts", .host, of: "host names") ?? []
        var signIn = CognitoSignInSettings(
            endpoint: endpoint?.description ?? "", issuer: issuer?.issuer ?? "", poolID: pool?.userPoolID ?? "",
            clientID: clientID ?? "", clientSecret: secret)
        signIn.flow = keys.value("flow", .oneOf, default: SignInFlow.password)
        signIn.deadline = keys.value("timeout", .duration(.seconds(1) ... .seconds(60)), default: .seconds(5))
        signIn.returnIDToken = keys.value("include_id_token", .boolean, default: false)
        keys.readLifetimes(into: &signIn)
        let binding = ScalarFormat.word(among: ["when_sent", "required"])
        signIn.requiresDevice = keys.value("device_binding", binding, default: "when_sent") == "required"
        if keys.isEmptyList("login_with") { keys.error("login_with", "must name at least one") }
        let names = keys.list("login_with", ScalarFormat<AccountNameKind>.oneOf, of: "kinds of names")
        signIn.acceptedNames = Set(names ?? [.email])
        signIn.registrationName = keys.registrationName(names: signIn.acceptedNames)
        signIn.concealsExistingUsers = keys.value("conceal_existing_users", .boolean, default: false)
        signIn.triggerRefusals = TriggerRefusalSettings(of: keys)
        signIn.passwordChanges = PasswordChangeSettings(of: keys)
        signIn.totpIssuer = keys.value("totp_issuer", .text, default: "Gatehouse")
        signIn.propagateClientAddress = keys.value("send_client_address", .boolean, default: false)
        signIn.sessionTakeover = keys.sessionTakeover(of: issuer)
        signIn.userFields = UserFields(reading: keys)
        signIn.contactChange = keys.section("contact_change", ContactChangeSettings.init(reading:))
        signIn.choice = SignInChoiceSettings(reading: keys)
        let attributes = WritableAttributeSettings(of: keys)
        signIn.writableAttributes = WritableAttributes(attributes.names)
        let isInsecure = keys.value("allow_insecure_http", .boolean, default: false)
        let allowsPlain = isInsecure || pool?.localURL != nil
        signIn.hosted =
            keys.optional("hosted")?.section {
                HostedSignInSettings(reading: $0, prefix: prefix, allowsPlain: allowsPlain)
            } ?? nil
        let sealingKeys = keys.sealingKeys(whereEmpty: "without this key the gateway makes its own")
        let crossOrigin = keys.optional("cors")?.section(CrossOrigin.init(reading:)) ?? nil
        guard let issuer, let pool, clientID != nil, secret != nil, let endpoint else { return nil }
        self.init(
            issuer: issuer.name, region: pool.region, prefix: prefix, hosts: hosts, endpoint: endpoint, signIn: signIn,
            sealingKeys: sealingKeys, crossOrigin: crossOrigin, attributes: attributes)
    }
}

extension SettingsMapping {
    /// The pool of this issuer; nil after an error if the issuer is not a user pool.
    fileprivate func pool(of issuer: IssuerSettings) -> CognitoPoolSettings? {
        guard let pool = issuer.pool else {
            error("issuer", "must be a user pool: issuers.\(issuer.name) has another profile than cognito")
            return nil
        }
        return pool
    }

    /// Reads the client id, which the pool's issuer must name, or the gateway would refuse the resulting tokens.
    fileprivate func clientID(of issuer: IssuerSettings?) -> String? {
        guard let node = required("client_id"), let clientID = node.read(.identifier) else { return nil }
        if let issuer, let clients = issuer.pool?.clientIDs, !clients.isEmpty, !clients.contains(clientID) {
            node.refuse("must be one of issuers.\(issuer.name).client_ids")
        }
        return clientID
    }

    /// Reads the lifetimes of what clients store.
    fileprivate func readLifetimes(into signIn: inout CognitoSignInSettings) {
        let day = Duration.seconds(86_400)
        // Ten years is Cognito's maximum for a refresh token.
        let lifetimes = Duration.seconds(60)...(day * 3650)
        let lifetime = value("refresh_token_lifetime", .duration(lifetimes), default: day * 30)
        signIn.refreshLifetime = lifetime.components.seconds
        signIn.briefRefreshLifetime =
            value("short_refresh_token_lifetime", .duration(lifetimes), default: day).components.seconds
        signIn.deviceTokenLifetime =
            value("device_token_lifetime", .duration(lifetimes), default: max(day * 90, lifetime)).components.seconds
    }

    /// Reads the client secret. Cognito's rule is `[\w+]+`, at most 64 characters; substitutes of Cognito use UUIDs.
    fileprivate func clientSecret() -> Secret? {
        guard let node = required("client_secret"), let secret = node.readSecret() else { return nil }
        let isWord = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        if secret.expose().count > 64 || !secret.expose().allSatisfy(isWord) {
            node.error("must be an app client's secret: 1 to 64 letters, digits, \"_\", \"+\" or \"-\" in one line")
        }
        return secret
    }

    /// The given endpoint, or else the pool's.
    fileprivate func cognitoEndpoint(of pool: CognitoPoolSettings?, issuer: String?) -> ServiceURL? {
        let insecure = value("allow_insecure_http", .boolean, default: false)
        guard let node = optional("endpoint") else { return pool?.endpoint }
        guard let url = node.read(.url) else { return nil }
        if url.isPlain, !insecure {
            node.error("passwords are sent over https only, unless allow_insecure_http is true")
        } else if let pool, let issuer, pool.localURL == nil, node.context.derivesIssuer(of: issuer),
            !CognitoEndpoint.isAWS(url.description, region: pool.region)
        {
            node.error(
                "needs issuers.\(issuer).issuer: the tokens of a pool that is not at AWS have another iss than AWS's")
        }
        return url
    }
}

extension ScalarFormat where Value == String {
    /// The name or address of a host without port, converted to lower case; an IPv6 address is in brackets.
    fileprivate static var host: Self {
        Self { (text) throws(ScalarRefusal) in
            guard let (host, port) = HostAndPort.split(text[...]), port == nil else {
                throw ScalarRefusal("must be a host without port, like api.example.com")
            }
            return host.contains(":") ? "[\(host)]" : host
        }
    }
}

extension SettingsContext {
    /// Whether a pool's `iss` is derived from its region, as at AWS, and has no recorded errors.
    fileprivate func derivesIssuer(of name: String) -> Bool {
        !values.contains { $0.path == "issuers.\(name).issuer" && $0.source == .settings }
            && !errors.contains { $0.keyPath == "issuers.\(name).jwks_url" }
    }
}
