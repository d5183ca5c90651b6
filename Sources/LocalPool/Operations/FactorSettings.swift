internal import Encoding
internal import GRDB
internal import Locking
internal import Store

/// The pool's second factors and relying party: from the configuration, or from a later SetUserPoolMfaConfig. The
/// database stores the latter together with the configuration that they replace; a start with a different configuration
/// discards them.
final class FactorSettings: Sendable {
    struct Settings: Sendable {
        var mfa: LocalPoolConfiguration.MFA
        var webAuthn: LocalPoolConfiguration.WebAuthn?
    }

    private static let valueName = "factor settings"
    private let configured: Settings
    private let changed: Locked<Settings?>

    init(_ configuration: LocalPoolConfiguration, store: Store) throws {
        configured = Settings(mfa: configuration.mfa, webAuthn: configuration.passwordless.webAuthn)
        let base = configured
        let stored = try store.writeBlocking { database in
            try String.fetchOne(
                database, sql: "SELECT value FROM pool_values WHERE name = ?", arguments: [Self.valueName])
        }
        let json = try stored.map { try JSON.parse(text: $0) }
        let isCurrent = json?["replaces"]?.text == base.json.text
        changed = Locked(isCurrent ? json?["set"].map { Settings($0, base: base) } : nil)
    }

    var current: Settings { changed.withLock { $0 } ?? configured }

    func store(_ settings: Settings, in database: Database) throws {
        let value: JSON = ["replaces": configured.json, "set": settings.json]
        try database.execute(
            sql: "INSERT OR REPLACE INTO pool_values (name, value) VALUES (?, ?)",
            arguments: [Self.valueName, value.text])
    }

    /// Sets the settings after they were stored.
    func put(_ settings: Settings) { changed.withLock { $0 = settings } }
}

extension FactorSettings.Settings {
    fileprivate var json: JSON {
        var json: JSONObject = [
            "mode": .string(mfa.mode.rawValue), "methods": .array(mfa.methods.sorted().map(JSON.string)),
        ]
        if let webAuthn {
            json["relying_party_id"] = .string(webAuthn.relyingPartyID)
            json["user_verification"] = .string(webAuthn.userVerification.rawValue)
        }
        return .object(json)
    }

    /// - Parameter base: the configuration, which has the origins.
    fileprivate init(_ json: JSON, base: FactorSettings.Settings) {
        self = base
        mfa.mode = json["mode"]?.stringValue.flatMap(LocalPoolConfiguration.MFA.Mode.init) ?? base.mfa.mode
        mfa.methods = Set(json["methods"]?.strings ?? [])
        webAuthn = nil
        guard let id = json["relying_party_id"]?.stringValue else { return }
        var party = LocalPoolConfiguration.WebAuthn(relyingPartyID: id)
        party.origins = base.webAuthn?.origins ?? []
        let verification = json["user_verification"]?.stringValue
        party.userVerification = verification.flatMap { .init(rawValue: $0) } ?? party.userVerification
        webAuthn = party
    }
}

extension UserPool {
    var mfa: LocalPoolConfiguration.MFA { factorSettings.current.mfa }
    var webAuthn: LocalPoolConfiguration.WebAuthn? { factorSettings.current.webAuthn }
}
