package import Listener

/// How the addresses of a gateway are served.
package struct GatewayListeners: Sendable {
    /// One for each listener of the settings.
    package let clients: [ListenerSettings]
    package let admin: ListenerSettings

    package init(clients: [ListenerSettings], admin: ListenerSettings) {
        self.clients = clients
        self.admin = admin
    }

    /// In the order of ``GatewaySettings/allListeners``.
    package var all: [ListenerSettings] { clients + [admin] }
}

extension ListenerSettings {
    /// The certificates that it presents.
    var certificates: [ServedCertificate] { tls?.certificates ?? [] }
}

extension [ListenerSettings] {
    /// For each listener the certificates that it presents.
    package var certificates: [[ServedCertificate]] { map(\.certificates) }
}
