package import Listener

/// The settings of a gateway's listeners.
package struct GatewayListeners: Sendable {
    /// One element for each listener of the settings.
    package let clients: [ListenerSettings]
    package let admin: ListenerSettings

    package init(clients: [ListenerSettings], admin: ListenerSettings) {
        self.clients = clients
        self.admin = admin
    }

    /// All listeners, in the order of ``GatewaySettings/allListeners``.
    package var all: [ListenerSettings] { clients + [admin] }
}

extension ListenerSettings {
    /// The certificates that the listener presents.
    var certificates: [ServedCertificate] { tls?.certificates ?? [] }
}

extension [ListenerSettings] {
    /// The certificates that each listener presents.
    package var certificates: [[ServedCertificate]] { map(\.certificates) }
}
