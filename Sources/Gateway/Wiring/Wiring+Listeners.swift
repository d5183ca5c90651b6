internal import ACME
internal import Admin
internal import HTTP1
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Settings
internal import SettingsReader

extension Wiring {
    /// The gate and the listeners. Some errors of the settings show only when these are put together.
    ///
    /// - Throws: ``SettingsErrors`` with all of it.
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

    /// How each of the listeners is to serve.
    ///
    /// - Throws: ``SettingsErrors`` with every listener whose files cannot be used.
    static func listeners(
        _ settings: GatewaySettings, knownTLS: [(TLSParameters, ListenerTLS)] = [],
        obtained: [ObtainedCertificate] = [], challenges: PendingChallenges? = nil
    ) throws(SettingsErrors) -> GatewayListeners {
        var tls = try tls(settings.allListeners, known: knownTLS, obtained: obtained)
        var admin = listener(settings.admin.listen, tls.removeLast(), settings)
        // The operator decides on the clients of this listener, which may well be one proxy.
        admin.connectionsPerAddress = .max
        // Probes and scrapes get some of the descriptors that clients leave.
        admin.descriptorReserve /= 4
        let clients = zip(settings.listeners, tls).map { listener, tls in
            var made = self.listener(listener, tls, settings)
            // A response to a challenge would be a decision that nobody has made.
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
            trustedProxies: settings.trustedProxies + (asking?.trusted ?? []), leastRate: limits.minimumRate,
            leastRateGrace: TimeAmount(limits.minimumRateGrace), proxies: listener.proxies,
            serverNames: listener.serverNames.map(HostNames.init), httpsPort: listener.httpsPort,
            authorization: asking.flatMap {
                ExternalAuthorization($0.proxy, trusted: $0.trusted, inFront: settings.trustedProxies)
            }, tls: tls,
            http2: listener.http2 ? limits.http2 : nil)
    }
}
