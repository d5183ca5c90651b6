package import Cognito
internal import Encoding
package import Sealing

/// The other app clients of a pool that the gateway has the secrets of. A new password ends their sessions too,
/// and so does the end of an authorization code that nobody has redeemed.
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
