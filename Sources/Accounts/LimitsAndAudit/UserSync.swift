internal import Clocks
internal import Encoding
internal import HTTPClient
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
    /// Whether responses show the user as the backend has them.
    var asksForUser: Bool
    var logger: Logger
    /// Makes a key by which the receiver knows a message that comes again.
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

    /// - Returns: the user as the backend has them, for the response; nil where that is not asked for.
    /// - Throws: 503 for a sign-in that the backend must know of and could not be told, and for a deletion whose
    ///   message could not be stored; 502 for a response that has no user.
    @discardableResult
    func report(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal) -> JSONObject? {
        if let (event, user) = Self.event(of: call, outcome), events.contains(event) {
            // A user who is gone never signs in again, which would tell the same.
            let message = message(event.rawValue, user, call, mustArrive: event == .deleted)
            if isRequired, event == .signedIn { return try await deliver(message, call) }
            let isStored = await outbox.add(message)
            // Deleting can be repeated as long as it was not told; nothing else would ever tell of it.
            guard isStored || event != .deleted else { throw Self.failed }
        }
        guard asksForUser, case .shown(let user) = outcome else { return nil }
        return try await deliver(message(Self.read, user.object, call), call)
    }

    /// The kind of message that asks for the user. It is never kept for later.
    private static let read = "read"

    private static var failed: Refusal {
        .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed))
    }

    /// Tells the backend at once.
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

    /// A user of whom nothing is known but a name, which stands where a sign-in would have it.
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
    /// Whether the user is another now than before.
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
    /// The user that a backend has responded with.
    ///
    /// - Throws: ``DeliveryFailure/unusable(_:)`` for a response that is no JSON object.
    func user() throws(DeliveryFailure) -> JSONObject {
        guard let type = header("content-type"), AccountRequest.isJSON(type) else { throw .unusable("content type") }
        guard let user = (try? JSON.parse(body))?.objectValue else { throw .unusable("no JSON object") }
        return user
    }
}
