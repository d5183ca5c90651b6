internal import ACME
internal import Admin
internal import HTTP1
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Settings
internal import SettingsReader

extension Wiring {
    /// Returns the gate and the listeners. Some errors of the settings are found only when these are built.
    ///
    /// - Throws: ``SettingsErrors`` with the errors of both.
    static func fitted(
        _ settings: GatewaySettings, issuers: [Issuer], knownTLS: [(TLSParameters, ListenerTLS)] = [],
        obtained: [ObtainedCertificate] = []
    ) throws -> (Gate, GatewayListeners) {
        let gate = Result { try self.gate(settings, issuers: issuers) }
        let listeners = Result { try self.listeners(settings, knownTLS: knownTLS, obtained: obtained) }
        if case .failure(let routes as SettingsErrors) = gate, case .failure(let tls as SettingsErrors) = listeners {
            throw SettingsErrors(errors: (routes.errors + tls.errors).sorted { $0.line < $1.line })
        }
        return (try gate.get(), try listeners.get())
    }

    /// Returns the settings of each listener.
    ///
    /// - Throws: ``SettingsErrors`` with every listener whose files cannot be used.
    static func listeners(
        _ settings: GatewaySettings, knownTLS: [(TLSParameters, ListenerTLS)] = [],
        obtained: [ObtainedCertificate] = [], challenges: PendingChallenges? = nil
    ) throws(SettingsErrors) -> GatewayListeners {
        var tls = try tls(settings.allListeners, known: knownTLS, obtained: obtained)
        var admin = listener(settings.admin.listen, tls.removeLast(), settings)
        // The operator controls the clients of this listener, and all may come through one proxy.
        admin.connectionsPerAddress = .max
        // A smaller reserve lets probes and scrapes use file descriptors that client listeners leave free.
        admin.descriptorReserve /= 4
        let clients = zip(settings.listeners, tls).map { listener, tls in
            var made = self.listener(listener, tls, settings)
            // On an external authorization listener, a challenge response would be taken for a decision.
            guard made.authorization == nil else { return made }
            switch settings.acme?.challenge {
            case .http where tls == nil: made.challenges = challenges
            case .tlsALPN where tls != nil: made.challenges = challenges
            default: break
            }
            return made
        }
        return GatewayListeners(clients: clients, admin: admin)
    }

    private static func listener(
        _ listener: ListenSettings, _ tls: ListenerTLS?, _ settings: GatewaySettings
    ) -> ListenerSettings {
        let limits = settings.limits
        let asking = listener.authorization
        return ListenerSettings(
            host: listener.address.host, port: listener.address.port,
            head: HeadLimits(
                requestLine: limits.requestLineBytes, fieldLine: limits.headerLineBytes, head: limits.headerBytes,
                fieldCount: limits.headerCount),
            handshakeTimeout: TimeAmount(limits.handshakeTimeout), headTimeout: TimeAmount(limits.headerTimeout),
            bodyIdleTimeout: TimeAmount(limits.bodyIdleTimeout),
            keepAliveTimeout: TimeAmount(limits.keepAliveTimeout),
            connections: limits.connections, connectionsPerAddress: limits.connectionsPerAddress,
            trustedProxies: settings.trustedProxies + (asking?.trusted ?? []), minimumRate: limits.minimumRate,
            minimumRateGrace: TimeAmount(limits.minimumRateGrace), proxies: listener.proxies,
            serverNames: listener.serverNames.map(HostNames.init), httpsPort: listener.httpsPort,
            authorization: asking.flatMap {
                ExternalAuthorization($0.proxy, trusted: $0.trusted, inFront: settings.trustedProxies)
            }, tls: tls,
            http2: listener.http2 ? limits.http2 : nil)
    }
}
