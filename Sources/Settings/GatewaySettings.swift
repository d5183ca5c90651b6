package import Cryptography
package import Pipeline
package import SettingsReader

/// The contents of a settings file, with all defaults filled in and all references resolved.
package struct GatewaySettings: Sendable {
    /// The public listeners, at least one.
    package var listeners: [ListenSettings]
    /// Nil: no certificates are obtained by ACME.
    package var acme: ACMESettings?
    /// The number of event loops; 0: one per core.
    package var threads: Int
    package var admin: AdminSettings
    package var adminAddress: HostAndPort { admin.address }
    /// The listeners for clients, followed by the admin listener.
    package var allListeners: [ListenSettings] { listeners + [admin.listen] }
    /// In the file's order, at least one.
    package var upstreams: [UpstreamSection]
    /// In the file's order; may be empty when every route is public.
    package var issuers: [IssuerSettings]
    package var keySets: KeySetSettings
    /// The directory for generated keys and fetched key sets.
    package var stateDirectory: String
    /// The state that gateways share; nil: the state is in this gateway's own state directory.
    package var state: StateSettings?
    package var signIn: SignInSettings
    package var directCognito: DirectCognitoSettings
    /// The limits of account calls.
    package var accountLimits: AccountLimitSettings
    /// The proxies whose X-Forwarded-For is trusted; empty: none.
    package var trustedProxies: [IPNetwork]
    package var audit: AuditSettings
    /// Nil: the backend is not notified of users.
    package var userSync: UserSyncSettings?
    package var identity: IdentitySettings
    /// In the file's order; at least one, with unique names.
    package var routes: [RouteSettings]
    package var limits: LimitSettings
    /// The time limit for requests in flight after a SIGTERM.
    package var drainTimeout: Duration
    package var logging: LoggingSettings
    /// Nil: no spans are recorded.
    package var tracing: TracingSettings?
    /// The path of the settings file, or the name of another source.
    package var origin = ""
    /// The first 16 hex digits of the SHA-256 of the settings file, without the environment and named files.
    package var digest = ""
    /// Every single value, by which a reload finds the changed ones.
    package var values: [ReadValue] = []
    /// The files and directories that the gateway writes to.
    package var writtenPaths: [WrittenPath] = []
    /// The files that the settings were read from.
    package var files = NamedFiles()
    /// Warnings about attributes that users cannot set because access depends on them.
    var attributeWarnings: [SettingsWarning] = []
    /// By key path: the places of settings whose errors may show only when they are used.
    var places: [String: SettingsPlace] = [:]

    /// Reads the settings file at `path`.
    ///
    /// `${NAME}` in a value is replaced from `environment`. `readFile` reads the settings file and the files that
    /// `file:` names; their relative paths are relative to the folder of the settings file.
    ///
    /// - Throws: ``SettingsErrors`` with all errors.
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

    /// Reads the settings again with new contents of named files. Everything else, including the settings file, keeps
    /// its earlier contents.
    ///
    /// - Parameters:
    ///   - environment: the environment of the first reading.
    ///   - changed: the new contents by path.
    /// - Throws: ``SettingsErrors`` with all errors that the new contents cause.
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

    /// The default address of the admin listener.
    package static let standardAdminAddress = HostAndPort(host: "127.0.0.1", port: 9901)
}

extension GatewaySettings {
    /// An error about the setting at `keyPath`, with its place in the file.
    package func error(of keyPath: String, _ message: String) -> SettingsError {
        places[keyPath]?.error(message)
            ?? SettingsError(file: "", line: 1, column: nil, keyPath: keyPath, message: message)
    }
}
