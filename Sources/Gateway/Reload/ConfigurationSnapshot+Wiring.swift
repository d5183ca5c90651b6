internal import Admin
internal import Keys
internal import Listener
internal import Settings

/// The parts of a snapshot that the next one is made from.
extension ConfigurationSnapshot {
    /// One for each key set service of the plan.
    var keySetPolicies: [KeySetService.Policy] { Wiring.keySetPolicies(settings) }

    /// The TLS contexts in use, with their parameters.
    var knownTLS: [(TLSParameters, ListenerTLS)] {
        zip(settings.listeners, listeners).compactMap { configured, bound in
            guard let parameters = Wiring.parameters(configured), let tls = bound.tls else { return nil }
            return (parameters, tls)
        }
    }
}
