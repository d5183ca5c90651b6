internal import Accounts
package import Store

/// Delivers the outbox's withdrawals of consents to Apple.
package struct AppleRevocationReceiver: OutboxReceiver {
    static let destination = "apple"
    /// The message's kind, for the log.
    private static let kind = "revoke"

    var name: String { Self.destination }
    var timeout: Duration
    var revoker: AppleRevoker

    package init(timeout: Duration, revoker: AppleRevoker) {
        self.timeout = timeout
        self.revoker = revoker
    }

    /// - Parameter now: milliseconds since 1970.
    package static func message(_ revocation: AppleRevocation, key: String, now: Int64) -> OutboxMessage {
        OutboxMessage(
            key: key, destination: destination, kind: kind, subject: revocation.userID, body: revocation.text,
            createdAt: now, mustArrive: true)
    }

    func send(_ message: OutboxMessage) async throws(DeliveryFailure) {
        guard let revocation = AppleRevocation(text: message.body) else { throw .refused("unreadable-message") }
        do {
            try await revoker.revoke(revocation)
        } catch {
            throw .refused(error.name)
        }
    }
}
