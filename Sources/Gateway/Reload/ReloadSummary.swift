internal import ACME
internal import Admin
internal import Listener
internal import Logging
internal import Pipeline
internal import Proxy
internal import Settings
internal import SettingsReader
internal import Upstream

/// The changes of a reload by name, for the log.
struct ReloadSummary: Equatable {
    /// The entries of one kind by name, in the order of the settings.
    typealias Named<Value> = [(name: String, value: Value)]

    /// The changes of one kind of entries.
    struct Part: Equatable {
        var added: [String] = []
        var removed: [String] = []
        var changed: [String] = []

        init(added: [String] = [], removed: [String] = [], changed: [String] = []) {
            self.added = added
            self.removed = removed
            self.changed = changed
        }

        init<Value: Equatable>(from old: Named<Value>, to new: Named<Value>) {
            let before = Dictionary(old.map { ($0.name, $0.value) }) { first, _ in first }
            let after = Dictionary(new.map { ($0.name, $0.value) }) { first, _ in first }
            added = new.map(\.name).filter { before[$0] == nil }
            removed = old.map(\.name).filter { after[$0] == nil }
            changed = new.filter { entry in before[entry.name].map { $0 != entry.value } == true }.map(\.name)
        }

        var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }

        /// The changes as `+added -removed ~changed`; empty if there are none.
        var description: String {
            (added.map { "+\($0)" } + removed.map { "-\($0)" } + changed.map { "~\($0)" }).joined(separator: " ")
        }
    }

    var listeners: Part
    var issuers: Part
    var upstreams: Part
    var routes: Part
    /// The sections with at least one changed value.
    var settings: Part
    /// The changed secrets by key path, whether they are in the settings file, the environment or files of their own.
    var secrets: Part
    /// Each changed value, as ``ValueChange`` writes it.
    var differences: [String]

    init(from old: ConfigurationSnapshot, to new: ConfigurationSnapshot) {
        listeners = Part(from: Self.listeners(old), to: Self.listeners(new))
        issuers = Part(from: Self.issuers(old), to: Self.issuers(new))
        upstreams = Part(from: Self.upstreams(old), to: Self.upstreams(new))
        routes = Part(from: Self.routes(old), to: Self.routes(new))
        let changes = ValueChange.all(from: old.settings.values, to: new.settings.values)
        settings = Part(changed: Self.sections(changes))
        secrets = ValueChange.secrets(changes)
        differences = ValueChange.lines(changes)
    }

    /// The non-empty parts.
    var lines: [(name: String, change: String)] {
        let parts = [
            ("listeners", listeners), ("issuers", issuers), ("upstreams", upstreams), ("routes", routes),
            ("settings", settings), ("secrets", secrets),
        ]
        return parts.map { ($0.0, $0.1.description) }.filter { !$0.1.isEmpty }
    }

    var metadata: Logger.Metadata {
        Logger.Metadata(uniqueKeysWithValues: lines.map { ($0.name, "\($0.change)") })
    }

    /// The sections that ``listeners``, ``issuers``, ``upstreams`` and ``routes`` leave out.
    private static let otherSections = [
        "acme", "admin", "key_sets", "sign_in", "direct_cognito", "account_limits", "trusted_proxies", "identity",
        "audit", "user_sync", "limits", "drain_timeout", "logging", "tracing",
    ]

    /// The sections with a changed value. A value that stays a secret is reported only by ``secrets``.
    static func sections(_ changes: [ValueChange]) -> [String] {
        let changed = Set(changes.filter { !$0.isOtherSecret }.map(\.section))
        return otherSections.filter(changed.contains)
    }

    private struct ListenerValue: Equatable {
        var http2: Bool
        var tls: TLSParameters?
        var proxies: [IPNetwork]
        var serverNames: [String]?
        var httpsPort: Int?
        var authorization: ExternalAuthorizationSettings?
    }

    private static func listeners(_ snapshot: ConfigurationSnapshot) -> Named<ListenerValue> {
        snapshot.settings.listeners.map {
            let value = ListenerValue(
                http2: $0.http2, tls: Wiring.parameters($0, snapshot.obtained), proxies: $0.proxies,
                serverNames: $0.serverNames, httpsPort: $0.httpsPort, authorization: $0.authorization)
            return ("\($0.address)", value)
        }
    }

    private static func issuers(_ snapshot: ConfigurationSnapshot) -> Named<Issuer> {
        snapshot.plan.gate.verifier.issuers.map { ($0.name, $0) }
    }

    private static func upstreams(_ snapshot: ConfigurationSnapshot) -> Named<UpstreamSettings> {
        snapshot.plan.upstreams.map { ($0.settings.name, $0.settings) }
    }

    private struct RouteValue: Equatable {
        var route: Route
        var timeouts: UpstreamTimeouts?
    }

    private static func routes(_ snapshot: ConfigurationSnapshot) -> Named<RouteValue> {
        zip(snapshot.plan.gate.routes.routes, snapshot.plan.timeoutsOfRoute).map {
            ($0.name, RouteValue(route: $0, timeouts: $1))
        }
    }
}
