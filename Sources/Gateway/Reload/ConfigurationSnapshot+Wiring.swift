internal import ACME
internal import Accounts
internal import Admin
internal import Keys
internal import Listener
internal import Proxy
internal import Settings
internal import Store
internal import Telemetry

extension ConfigurationSnapshot {
    /// The TLS contexts in use with their parameters, for reuse by the next snapshot.
    var knownTLS: [(TLSParameters, ListenerTLS)] {
        zip(settings.allListeners, listeners.all).compactMap { configured, bound in
            guard let parameters = Wiring.parameters(configured, obtained), let tls = bound.tls else { return nil }
            return (parameters, tls)
        }
    }

    /// Applies the settings to the services that were taken over from the previous snapshot. New services already have
    /// them.
    ///
    /// Everything is applied on return, so the settings of the later of two reloads always remain.
    func applySettings() {
        for (service, policy) in zip(plan.keyServices, Wiring.keySetPolicies(settings)) { service.adopt(policy) }
        if let schedule = RotationSchedule.assertionKeys(settings) { plan.assertionKeys?.adopt(schedule) }
        if let schedule = RotationSchedule.sessionKeys(settings) { plan.sessionKeys?.keys.adopt(schedule) }
        sharedKeys.sealing?.adopt(.sealingKeys(settings, isShared: true))
        plan.revocations?.adopt(maximumCount: settings.limits.revocations)
        plan.revocations?.adopt(Wiring.staleness(settings))
        replicas?.adopt(configuration: settings.digest, patience: Wiring.patience(settings))
        accountServices?.adopt()
        accessLog?.use(accountServices?.hashes, places.access.format, write: places.access.write)
    }
}
