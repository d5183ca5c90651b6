internal import Encoding
internal import GRDB
internal import Logging
internal import Store

extension LocalApple {
    /// A user's action at Apple, of which Apple notifies the app's server.
    struct Event: Sendable {
        /// `consent-revoked`, `account-delete`, `email-disabled`, `email-enabled`; other types are reported without any
        /// effect.
        var type: String
        /// An e-mail address or a `sub`.
        var user: String
        /// The app that is notified.
        var clientID: String
        /// Members that override those of the event.
        var eventChanges: JSONObject = [:]
        /// Claims that override those of the notification.
        var changes: JSONObject = [:]
        /// Whether `events` is an object, as Apple documents, instead of JSON text, as Apple sends it.
        var isObject = false
        /// Whether the notification is posted; nil: if a URL is configured.
        var isSent: Bool?
    }

    /// Applies the event and signs its notification.
    ///
    /// - Returns: `{payload, delivery?}`: the signed notification and, if it was posted, the response's `{status}` or
    ///   the `{error}`.
    func notify(_ event: Event) async throws -> JSONObject {
        guard configuration.clientIDs.contains(event.clientID) else {
            throw PoolError.invalidParameter("The team has no app \(event.clientID).")
        }
        if event.isSent == true, configuration.notificationURL == nil {
            throw PoolError.invalidParameter("There is no notification_url.")
        }
        let payload = try await notification(of: event)
        guard event.isSent != false, let url = configuration.notificationURL else {
            return ["payload": .string(payload)]
        }
        let body: JSONObject = ["payload": .string(payload)]
        return ["payload": .string(payload), "delivery": await deliver(body.encoded(), to: url)]
    }

    /// The notification as a compact JWS.
    private func notification(of event: Event) async throws -> String {
        let (account, consent) = try await store.write { database -> (AppleAccount, AppleConsent?) in
            guard let account = try AppleAccount.find(event.user, in: database) else {
                throw PoolError.invalidParameter("There is no account \(event.user).")
            }
            let consent = try AppleConsent.find(account.sub, event.clientID, in: database)
            switch event.type {
            case "consent-revoked": try AppleConsent.withdraw(account.sub, event.clientID, in: database)
            case "account-delete", "account-deleted": try account.delete(in: database)
            default: break
            }
            return (account, consent)
        }
        let now = clock()
        var claim: JSONObject = [
            "type": .string(event.type), "sub": .string(account.sub),
            "event_time": .number(JSONNumber(now * 1000)),
        ]
        if event.type.hasPrefix("email-") {
            let isHidden = consent?.hidesEmail ?? account.hidesEmail
            claim["email"] = .string(account.email(hidden: isHidden))
            claim["is_private_email"] = .string(isHidden ? "true" : "false")
        }
        claim = claim.changed(by: event.eventChanges)
        let claims: JSONObject = [
            "iss": .string(configuration.issuer), "aud": .string(event.clientID),
            "exp": .number(JSONNumber(now + configuration.lifetimes.identityToken)),
            "iat": .number(JSONNumber(now)), "jti": .string(Base64URL.encode(random(16))),
            "events": event.isObject ? .object(claim) : .string(String(decoding: claim.encoded(), as: UTF8.self)),
        ]
        return try keys.server.sign(claims.changed(by: event.changes))
    }

    private func deliver(_ body: [UInt8], to url: PlainURL) async -> JSON {
        do {
            return ["status": .number(JSONNumber(try await url.post(body)))]
        } catch {
            logger.warning("a notification was not delivered", metadata: ["error": "\(error)"])
            return ["error": .string("\(error)")]
        }
    }
}
