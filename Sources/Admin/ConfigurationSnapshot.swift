package import ACME
package import Accounts
internal import Keys
internal import Listener
package import Proxy
package import Sessions
package import Settings
package import Store
package import Telemetry
package import Upstream

/// The active configuration: everything that is built from one reading of the settings. It is a value: a reload creates
/// a new one, which takes over the unchanged services.
package struct ConfigurationSnapshot: Sendable {
    package let settings: GatewaySettings
    /// The plan of the event loops, with the services that requests use.
    package let plan: ServingPlan
    /// One element for each event loop.
    package let metrics: [LoopMetrics]
    package let listeners: GatewayListeners
    package let checks: [ServerCheck]
    /// Created when the access log is first enabled, and kept afterwards. The plan contains it only while it is
    /// enabled.
    package let accessLog: AccessLog?
    /// Nil if no tokens are accepted and no shared state is configured.
    package let store: (any StateStore)?
    /// Nil if there is no store.
    package let upkeep: StoreUpkeep?
    /// Nil if there is no store.
    package let storeWatch: StoreWatch?
    /// Nil if the store is not shared with other gateways.
    package let replicas: ReplicaService?
    /// The destinations of its logs.
    package let places: LogSinks
    /// Nil if the gateway stores no users and no sessions of its own.
    package let sessionEnds: SessionEnds?
    /// Nil if the gateway does not call Apple.
    package let grantValidation: AppleGrantValidation?
    /// Nil if there is no store.
    package let accountServices: AccountServices?
    /// Empty if the keys are in the state directory.
    package let sharedKeys: SharedKeyServices
    /// Nil if no certificates are obtained by ACME.
    package let certificateService: CertificateService?
    /// The certificates of listeners that were obtained by ACME.
    package let obtained: [ObtainedCertificate]
    /// Nil if there is no sign-in on hosted pages.
    package let unredeemedCodes: UnredeemedCodes?
    /// Nil if there is no sign-in at a pool.
    package let leftOverSessions: LeftOverSessions?

    package init(
        settings: GatewaySettings, plan: ServingPlan, metrics: [LoopMetrics], listeners: GatewayListeners,
        checks: [ServerCheck], accessLog: AccessLog?, store: (any StateStore)?, upkeep: StoreUpkeep?,
        storeWatch: StoreWatch?, replicas: ReplicaService? = nil,
        places: LogSinks, sessionEnds: SessionEnds?, grantValidation: AppleGrantValidation?,
        accountServices: AccountServices?, sharedKeys: SharedKeyServices, unredeemedCodes: UnredeemedCodes?,
        leftOverSessions: LeftOverSessions?, certificateService: CertificateService? = nil,
        obtained: [ObtainedCertificate] = []
    ) {
        self.settings = settings
        self.plan = plan
        self.metrics = metrics
        self.listeners = listeners
        self.checks = checks
        self.accessLog = accessLog
        self.store = store
        self.upkeep = upkeep
        self.storeWatch = storeWatch
        self.replicas = replicas
        self.places = places
        self.sessionEnds = sessionEnds
        self.grantValidation = grantValidation
        self.accountServices = accountServices
        self.sharedKeys = sharedKeys
        self.unredeemedCodes = unredeemedCodes
        self.leftOverSessions = leftOverSessions
        self.certificateService = certificateService
        self.obtained = obtained
    }

    /// The background services, in the order in which they start.
    package var services: [any BackgroundService] {
        let single: [(any BackgroundService)?] = [
            plan.assertionKeys, plan.sessionKeys?.keys, sessionEnds, grantValidation, plan.revocations, upkeep,
            storeWatch, replicas, accountServices?.limits, accountServices?.outbox, unredeemedCodes, leftOverSessions,
            plan.tracing, certificateService,
        ]
        return plan.keyServices + single.compactMap { $0 } + sharedKeys.services + checks
    }

    /// The gateway's own keys that are followed, with the error of the last reading; nil if it succeeded.
    var ownKeys: [(purpose: String, error: String?)] {
        let errors: [(KeyPurpose, String??)] = [
            (.assertion, plan.assertionKeys.map(\.error)), (.session, plan.sessionKeys.map(\.keys.error)),
            (.sealing, sharedKeys.sealing.map(\.error)), (.audit, sharedKeys.audit.map(\.error)),
        ]
        return errors.compactMap { purpose, error in error.map { (purpose.rawValue, $0) } }
    }

    /// The certificates of all listeners, the admin listener's included.
    package var certificates: [ShownCertificate] {
        ShownCertificate.all(settings.allListeners, listeners.all.certificates)
    }

    /// The health checks of a server; nil if it is not checked.
    func check(of server: String, of upstream: String) -> ServerCheck? {
        checks.first { $0.upstreamName == upstream && $0.serverName == server }
    }

    /// The result of health checks; nil if the server is not checked.
    package func isHealthy(_ server: String, of upstream: String) -> Bool? {
        check(of: server, of: upstream)?.isHealthy
    }
}
