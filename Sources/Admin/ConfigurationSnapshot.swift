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

/// The configuration that is running: everything that one reading of the settings leads to. A value: a reload makes
/// another one, which takes over the services that the change leaves as they are.
package struct ConfigurationSnapshot: Sendable {
    package let settings: GatewaySettings
    /// The plan of the event loops, with the services that requests need.
    package let plan: ServingPlan
    /// One for each event loop.
    package let metrics: [LoopMetrics]
    package let listeners: GatewayListeners
    package let checks: [ServerCheck]
    /// Made when it is first switched on, and kept. The plan has it only while it is switched on.
    package let accessLog: AccessLog?
    /// Nil where no tokens are taken.
    package let store: (any StateStore)?
    /// Nil where there is no store.
    package let upkeep: StoreUpkeep?
    /// Nil where there is no store.
    package let storeWatch: StoreWatch?
    /// Nil where no other gateway has the same store.
    package let replicas: ReplicaService?
    /// Where its logs go.
    package let places: LogPlaces
    /// Nil where the gateway keeps no users and no sessions of its own.
    package let sessionEnds: SessionEnds?
    /// Nil where the gateway does not speak to Apple.
    package let grantValidation: AppleGrantValidation?
    /// Nil where no tokens are taken.
    package let accountServices: AccountServices?
    /// Empty where the keys are in the state directory.
    package let sharedKeys: SharedKeyServices
    /// Nil where no certificates are obtained from a directory.
    package let certificateService: CertificateService?
    /// Of the listeners' certificates those that were obtained.
    package let obtained: [ObtainedCertificate]
    /// Nil where nobody signs in on hosted pages.
    package let unredeemedCodes: UnredeemedCodes?
    /// Nil where nobody signs in at a pool.
    package let leftOverSessions: LeftOverSessions?

    package init(
        settings: GatewaySettings, plan: ServingPlan, metrics: [LoopMetrics], listeners: GatewayListeners,
        checks: [ServerCheck], accessLog: AccessLog?, store: (any StateStore)?, upkeep: StoreUpkeep?,
        storeWatch: StoreWatch?, replicas: ReplicaService? = nil,
        places: LogPlaces, sessionEnds: SessionEnds?, grantValidation: AppleGrantValidation?,
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

    /// The services that run beside requests, in the order in which they begin.
    package var services: [any BackgroundService] {
        let single: [(any BackgroundService)?] = [
            plan.assertionKeys, plan.sessionKeys?.keys, sessionEnds, grantValidation, plan.revocations, upkeep,
            storeWatch, replicas, accountServices?.limits, accountServices?.outbox, unredeemedCodes, leftOverSessions,
            plan.tracing, certificateService,
        ]
        return plan.keyServices + single.compactMap { $0 } + sharedKeys.services + checks
    }

    /// The gateway's own keys that are followed, with the error of the last reading.
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

    /// The health checks of a server; nil for one that is not checked.
    func check(of server: String, of upstream: String) -> ServerCheck? {
        checks.first { $0.upstreamName == upstream && $0.serverName == server }
    }

    /// The result of health checks; nil for a server that is not checked.
    package func isHealthy(_ server: String, of upstream: String) -> Bool? {
        check(of: server, of: upstream)?.isHealthy
    }
}
