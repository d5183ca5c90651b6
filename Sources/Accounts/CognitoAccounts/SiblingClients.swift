package import Cognito
internal import Encoding
package import Sealing

/// The other app clients of a pool whose secrets the gateway has. A new password also ends their sessions, and the
/// expiry of an unredeemed authorization code also revokes their tokens.
package struct SiblingClients: Sendable {
    package struct Client: Sendable {
        var app: AppClient
        var sealingKeys: SealingKeyRing

        package init(app: AppClient, sealingKeys: SealingKeyRing) {
            self.app = app
            self.sealingKeys = sealingKeys
        }
    }

    private let clients: [Client]

    package init(_ clients: [Client] = []) { self.clients = clients }

    var sealingKeys: [SealingKeyRing] { clients.map(\.sealingKeys) }

    func app(_ clientID: String) -> AppClient? {
        clients.first { $0.app.clientID.hasSameBytes(as: clientID) }?.app
    }
}
