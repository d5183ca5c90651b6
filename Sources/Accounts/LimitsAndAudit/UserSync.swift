internal import Clocks
internal import Encoding
internal import HTTPClient
package import Logging
internal import Pipeline
package import Settings
internal import Store

/// Notifies the backend that stores the users of sign-ins, confirmations, changes and deletions.
package struct UserSync: Sendable {
    package static let destination = "user_sync"

    var receiver: WebhookReceiver
    var outbox: Outbox
    var events: Set<UserSyncEvent>
    /// Whether a sign-in waits until the backend is notified.
    var isRequired: Bool
    /// Whether responses show the user as the backend stores them.
    var asksForUser: Bool
    var logger: Logger
    /// Creates the key by which the receiver recognizes a repeated message.
    var makeKey: @Sendable () -> String

    package init(
        receiver: WebhookReceiver, outbox: Outbox, events: Set<UserSyncEvent>, isRequired: Bool,
        asksForUser: Bool = false, logger: Logger,
        makeKey: @escaping @Sendable () -> String
    ) {
        self.receiver = receiver
        self.outbox = outbox
        self.events = events
        self.isRequired = isRequired
        self.asksForUser = asksForUser
        self.logger = logger
        self.makeKey = makeKey
    }

    /// Reports an outcome to the backend.
    ///
    /// - Returns: the backend's user for the response; nil if that is not required.
    /// - Throws: 503 for a sign-in whose required notification failed, and for a deletion whose message could not be
    ///   stored; 502 for a response without a user.
    @discardableResult
    func report(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal) -> JSONObject? {
        if let (event, user) = Self.event(of: call, outcome), events.contains(event) {
            // A deleted user never signs in again, so no later message can replace this one.
            let message = message(event.rawValue, user, call, mustArrive: event == .deleted)
            if isRequired, event == .signedIn { return try await deliver(message, call) }
            let isStored = await outbox.add(message)
            // A deletion can be repeated until it is reported; no later call would report it.
            guard isStored || event != .deleted else { throw Self.failed }
        }
        guard asksForUser, case .shown(let user) = outcome else { return nil }
        return try await deliver(message(Self.read, user.object, call), call)
    }

    /// The kind of message that requests the user. It is never stored.
    private static let read = "read"

    private static var failed: Refusal {
        .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed))
    }

    /// Sends a message to the backend without the outbox.
    private func deliver(_ message: OutboxMessage, _ call: AccountCall) async throws(Refusal) -> JSONObject? {
        do throws(DeliveryFailure) {
            let response = try await receiver.ask(message, needsBody: asksForUser)
            return asksForUser ? try response.user() : nil
        } catch {
            logger.error(
                "a call is refused: the backend did not accept its message",
                metadata: ["request_id": "\(call.requestID)", "event": "\(message.kind)", "error": "\(error)"])
            if case .unusable = error { throw Refusal(.upstream, reason: .request(.userSyncFailed)) }
            throw Self.failed
        }
    }

    private static func event(of call: AccountCall, _ outcome: AccountOutcome) -> (UserSyncEvent, JSONObject)? {
        switch outcome {
        case .signedIn(let user): return (.signedIn, user.object)
        case .shown(let user): return call.operation.effect.changesUser ? (.updated, user.object) : nil
        case .changed(let user): return (.updated, user.object)
        case .givenAgain, .forwarded, .challenged, .refused: return nil
        case .succeeded: break
        }
        switch call.operation.effect {
        case .confirmed: return (.confirmed, Self.user(named: call.account))
        case .userDeleted: return (.deleted, ["id": call.subject.map(JSON.string) ?? .null])
        case .none, .registered, .passwordReset, .passwordChanged, .refreshed, .signedOut, .userExported,
            .sessionsEnded, .userChanged, .emailChanged, .phoneNumberChanged, .secondFactorsChanged,
            .passkeyRegistered, .passkeyDeleted:
            return nil
        }
    }

    /// Returns a user of whom only a name is known, in the member for that kind of name.
    private static func user(named name: String?) -> JSONObject {
        var user: JSONObject = ["id": .null, "email": .null]
        if let name { user[(AccountNameKind(name) ?? .username).rawValue] = .string(name) }
        return user
    }

    private func message(
        _ event: String, _ user: JSONObject, _ call: AccountCall, mustArrive: Bool = false
    ) -> OutboxMessage {
        let now = WallClock.milliseconds()
        let key = makeKey()
        let body: JSONObject = [
            "id": .string(key), "event": .string(event), "occurred_at_ms": .number(JSONNumber(now)),
            "pool": .string(call.poolID), "user": .object(user),
        ]
        return OutboxMessage(
            key: key, destination: Self.destination, kind: event, subject: call.subject,
            body: String(decoding: body.encoded(), as: UTF8.self), createdAt: now,
            mustArrive: mustArrive)
    }
}

extension AccountOperation.Effect {
    /// Whether the user's attributes have changed.
    fileprivate var changesUser: Bool {
        switch self {
        case .userChanged, .emailChanged, .phoneNumberChanged: true
        case .none, .registered, .confirmed, .passwordReset, .passwordChanged, .refreshed, .signedOut, .userDeleted,
            .userExported, .sessionsEnded, .secondFactorsChanged, .passkeyRegistered, .passkeyDeleted:
            false
        }
    }
}

extension FetchResponse {
    /// Returns the user in a backend's response.
    ///
    /// - Throws: ``DeliveryFailure/unusable(_:)`` for a response that is not a JSON object.
    func user() throws(DeliveryFailure) -> JSONObject {
        guard let type = header("content-type"), AccountRequest.isJSON(type) else { throw .unusable("content type") }
        guard let user = (try? JSON.parse(body))?.objectValue else { throw .unusable("no JSON object") }
        return user
    }
}
