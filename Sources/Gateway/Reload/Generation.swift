internal import Listener
internal import Pipeline
internal import Settings
internal import SignIn
internal import Store
internal import Telemetry

/// Everything that one reading of the settings leads to.
struct Generation: Sendable {
    let settings: GatewaySettings
    let plan: ServingPlan
    /// One for each event loop.
    let metrics: [LoopMetrics]
    /// One for each listener of the settings.
    let listeners: [ListenerSettings]
    let checks: [ServerCheck]
    /// Made when it is first switched on, and kept.
    let accessLog: AccessLog?
    /// Nil where no tokens are taken.
    let store: Store?
    /// Nil where there is no store.
    let upkeep: StoreUpkeep?
    /// Nil where there is no store.
    let storeWatch: StoreWatch?
    /// Where its logs go.
    let places: LogPlaces
    /// Nil where nobody has signed in here.
    let sessions: StoredSessions?
    /// Nil where the gateway keeps no users and no sessions of its own.
    let userSessions: SessionService?
    /// Nil where the gateway does not speak to Apple.
    let grantValidation: AppleGrantValidation?
    /// Nil where no tokens are taken.
    let conduct: ConductService?

    /// One for each key set service of the plan.
    var keySetPolicies: [KeySetService.Policy] { Wiring.keySetPolicies(settings) }

    /// The certificates that listeners present.
    var certificates: [ShownCertificate] {
        ShownCertificate.all(settings.listeners, listeners.map { $0.tls?.certificates ?? [] })
    }

    /// The TLS contexts in use, with their parameters.
    var knownTLS: [(TLSParameters, ListenerTLS)] {
        zip(settings.listeners, listeners).compactMap { configured, bound in
            guard let parameters = Wiring.parameters(configured), let tls = bound.tls else { return nil }
            return (parameters, tls)
        }
    }
}
