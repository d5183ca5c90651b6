package import Cryptography
package import Pipeline
package import SettingsReader

/// Everything that a settings file says, with every default filled in and every reference resolved.
package struct GatewaySettings: Sendable {
    /// The public addresses, at least one.
    package var listeners: [ListenSettings]
    /// Nil: no certificates are obtained from a directory.
    package var acme: ACMESettings?
    /// Event loops; 0: one per core.
    package var threads: Int
    package var admin: AdminSettings
    package var adminAddress: HostAndPort { admin.address }
    /// Those for clients, and the admin listener as the last one.
    package var allListeners: [ListenSettings] { listeners + [admin.listen] }
    /// In the file's order, at least one.
    package var upstreams: [UpstreamSection]
    /// In the file's order; may be empty when every route is public.
    package var issuers: [IssuerSettings]
    package var keySets: KeySetSettings
    /// Where keys that are made once and key sets that were fetched are kept.
    package var stateDirectory: String
    /// The state that gateways share; nil: it is in the state directory, this gateway's own.
    package var state: StateSettings?
    package var signIn: SignInSettings
    package var directCognito: DirectCognitoSettings
    /// Limits of account calls.
    package var accountLimits: AccountLimitSettings
    /// The proxies whose X-Forwarded-For is believed; none unless they are named.
    package var trustedProxies: [IPNetwork]
    package var audit: AuditSettings
    /// Nil: the backend is not told of users.
    package var userSync: UserSyncSettings?
    package var identity: IdentitySettings
    /// In the file's order, at least one, each with its own name.
    package var routes: [RouteSettings]
    package var limits: LimitSettings
    /// How long requests in flight may take to end after a SIGTERM.
    package var drainTimeout: Duration
    package var logging: LoggingSettings
    /// Nil: no spans are made.
    package var tracing: TracingSettings?
    /// The path of the file they are from, or what is said in its place.
    package var origin = ""
    /// The first 16 hex digits of the SHA-256 of the file they are from, environment and named files aside.
    package var digest = ""
    /// Every single value, so that a reload can tell which of them are others than before.
    package var values: [ReadValue] = []
    /// The files and directories that the gateway writes to.
    package var writtenPaths: [WrittenPath] = []
    /// The files that they were read from.
    package var files = NamedFiles()
    /// Attributes that users cannot set because access depends on them.
    var attributeWarnings: [SettingsWarning] = []
    /// By key path, where the file has what may prove faulty only when it is to be used.
    var places: [String: SettingsPlace] = [:]

    /// Reads the settings file at `path`, or tells everything that is wrong with it.
    ///
    /// `${NAME}` in a value is taken from `environment`; `readFile` reads the settings file and the files that
    /// `file:` names, whose relative paths are relative to the settings file.
    package static func load(
        path: String, environment: [String: String],
        readFile: @escaping (String) throws(FileReadFailure) -> [UInt8] = { (path) throws(FileReadFailure) in
            try readWholeFile(path)
        }
    ) throws(SettingsErrors) -> GatewaySettings {
        let reading = try SettingsReading(path: path, environment: environment, readFile: readFile)
        var settings = try reading.read(GatewaySettings.init(reading:))
        settings.origin = reading.context.file
        settings.digest = reading.digest
        settings.values = reading.context.values
        settings.writtenPaths = reading.context.writtenPaths
        settings.files = reading.context.files
        settings.places = reading.context.places
        return settings
    }

    /// The same settings with other contents of files that they name. Everything else is what it was when they were
    /// read, the settings file included.
    ///
    /// - Parameters:
    ///   - environment: the same as they were read with.
    ///   - changed: by path.
    /// - Throws: ``SettingsErrors`` with everything that is wrong with these contents.
    package func reread(
        environment: [String: String], with changed: [String: Result<Secret, FileReadFailure>]
    ) throws(SettingsErrors) -> GatewaySettings {
        let known = files.contents
        return try Self.load(path: origin, environment: environment) { (path) throws(FileReadFailure) in
            if let changed = changed[path] { return try changed.get().expose() }
            guard let secret = known[path] else { return try readWholeFile(path) }
            return secret.expose()
        }
    }

    /// Where the admin listener is unless the settings say something else.
    package static let standardAdminAddress = HostAndPort(host: "127.0.0.1", port: 9901)
}

extension GatewaySettings {
    /// A fault of what the key at this path names, with its place in the file.
    package func error(of keyPath: String, _ message: String) -> SettingsError {
        places[keyPath]?.error(message)
            ?? SettingsError(file: "", line: 1, column: nil, keyPath: keyPath, message: message)
    }
}
