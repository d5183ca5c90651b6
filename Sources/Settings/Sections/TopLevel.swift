internal import Pipeline
internal import SettingsReader

extension GatewaySettings {
    /// Reads the whole file. Invalid settings get some value: the recorded errors prevent the use of the settings.
    init(reading file: SettingsMapping) {
        listeners = ListenSettings.all(of: file)
        acme = ACMESettings(of: file, listeners: listeners)
        file.notePlace(of: "acme")
        threads = file.value("threads", .integer(0...1024), default: 0)
        file.notePlace(of: "threads")
        let addresses = listeners.map(\.address)
        admin = file.section("admin") { AdminSettings(reading: $0, listeners: addresses) }
        let upstreamEntries = file.required("upstreams")?.entries(atLeastOne: "upstream") ?? []
        upstreams = upstreamEntries.compactMap(UpstreamSection.init(name:node:))
        let issuerEntries = file.optional("issuers")?.entries() ?? []
        for entry in issuerEntries { entry.node.context.note(entry.node.place) }
        issuers = IssuerSettings.all(of: issuerEntries)
        let known = KnownNames(
            upstreams: upstreamEntries.map(\.name), issuers: issuerEntries.map(\.name), readIssuers: issuers)
        keySets = file.section("key_sets", KeySetSettings.init(reading:))
        stateDirectory = file.node.context.resolve(
            path: file.value("state_directory", .text, default: "/var/lib/gatehouse"))
        file.note(.directory, stateDirectory, of: "state_directory")
        state = file.optional("state")?.section(StateSettings.init(reading:)) ?? nil
        file.notePlace(of: "state")
        signIn = file.section("sign_in") { SignInSettings(reading: $0, known: known) }
        directCognito = DirectCognitoSettings(of: file, signIn: signIn, known: known)
        accountLimits = file.section("account_limits", AccountLimitSettings.init(reading:))
        trustedProxies = file.list("trusted_proxies", .network, of: "networks") ?? []
        let identity = file.section("identity") { IdentitySettings(reading: $0, known: known) }
        self.identity = identity
        for upstream in upstreams { upstream.forwardHeaders.check(identity, file.node.context) }
        audit = file.section("audit", AuditSettings.init(reading:))
        userSync = file.optional("user_sync")?.section { UserSyncSettings(reading: $0, identity: identity) } ?? nil
        routes = RouteSettings.all(of: file, known: known, identity: identity)
        limits = file.section("limits", LimitSettings.init(reading:))
        drainTimeout = file.value("drain_timeout", .duration(.zero ... .seconds(3600)), default: .seconds(30))
        let routeNames = routes.map(\.name)
        logging = file.section("logging") { LoggingSettings(reading: $0, routes: routeNames) }
        tracing = file.optional("tracing")?.section(TracingSettings.init(reading:)) ?? nil
        settleWritableAttributes(file.node.context)
        checkPublishedKeys(file.node.context)
    }
}

/// The names that other parts of the file may refer to. Names of invalid entries count too, since references to them
/// are correct.
struct KnownNames {
    let upstreams: [String]
    let issuers: [String]
    let readIssuers: [IssuerSettings]

    func issuer(named name: String) -> IssuerSettings? {
        readIssuers.first { $0.name == name }
    }
}
