internal import Clocks
internal import Encoding
package import Logging
internal import Pipeline
package import Settings
internal import Store

/// Tells the backend of users: who has signed in, who was confirmed, who is gone.
package struct UserSync: Sendable {
    package static let destination = "user_sync"

    var receiver: WebhookReceiver
    var outbox: Outbox
    var events: Set<UserSyncEvent>
    /// Whether a sign-in waits until the backend has been told.
    var isRequired: Bool
    var logger: Logger
    /// Makes a key by which the receiver knows a message that comes again.
    var makeKey: @Sendable () -> String

    package init(
        receiver: WebhookReceiver, outbox: Outbox, events: Set<UserSyncEvent>, isRequired: Bool, logger: Logger,
        makeKey: @escaping @Sendable () -> String
    ) {
        self.receiver = receiver
        self.outbox = outbox
        self.events = events
        self.isRequired = isRequired
        self.logger = logger
        self.makeKey = makeKey
    }

    /// - Throws: 503 for a sign-in that the backend must know of and could not be told, and for a deletion whose
    ///   message could not be stored.
    func report(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal) {
        guard let (event, user) = Self.event(of: call, outcome), events.contains(event) else { return }
        let message = message(event, user, call)
        guard isRequired, event == .signedIn else {
            let isStored = await outbox.add(message)
            // Deleting can be repeated as long as it was not told; nothing else would ever tell of it.
            guard isStored || event != .deleted else {
                throw .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed))
            }
            return
        }
        do {
            try await receiver.send(message, now: WallClock.seconds())
        } catch {
            logger.error(
                "a sign-in is refused: the backend did not accept its message",
                metadata: ["request_id": "\(call.requestID)", "error": "\(error)"])
            throw .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed))
        }
    }

    private static func event(of call: AccountCall, _ outcome: AccountOutcome) -> (UserSyncEvent, JSONObject)? {
        switch outcome {
        case .signedIn(let user): return (.signedIn, user.object)
        case .forwarded, .challenged, .refused: return nil
        case .succeeded: break
        }
        switch call.operation.effect {
        case .confirmed: return (.confirmed, ["id": .null, "email": call.account.map(JSON.string) ?? .null])
        case .userDeleted: return (.deleted, ["id": call.subject.map(JSON.string) ?? .null])
        case .none, .registered, .passwordReset, .passwordChanged, .refreshed, .signedOut, .userExported: return nil
        }
    }

    private func message(_ event: UserSyncEvent, _ user: JSONObject, _ call: AccountCall) -> OutboxMessage {
        let now = WallClock.milliseconds()
        let key = makeKey()
        let body: JSONObject = [
            "id": .string(key), "event": .string(event.rawValue), "occurred_at_ms": .number(JSONNumber(now)),
            "pool": .string(call.poolID), "user": .object(user),
        ]
        return OutboxMessage(
            key: key, destination: Self.destination, kind: event.rawValue, subject: call.subject,
            body: String(decoding: body.encoded(), as: UTF8.self), createdAt: now,
            // A user who is gone never signs in again, which would tell the same.
            mustArrive: event == .deleted)
    }
}
