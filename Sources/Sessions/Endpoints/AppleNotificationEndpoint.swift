package import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Store

extension AccountOperation {
    package static let appleNotifications = AccountOperation(
        "apple-notifications", .post, "apple/notifications", budget: .account, metricsName: "me")
}

/// `POST apple/notifications`. Repeated notifications, and those about unknown users or of unknown types, succeed:
/// otherwise Apple would resend them.
struct AppleNotificationEndpoint: AccountEndpoint {
    static let operation = AccountOperation.appleNotifications

    private let body: AppleNotificationBody

    init(_ request: AccountRequest, _ endpoints: SessionEndpoints, _ call: inout AccountCall) throws(Refusal) {
        body = try AppleNotificationBody(request.jsonObject())
    }

    func perform(
        _ endpoints: SessionEndpoints, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let apple = endpoints.apple
        let notification = try await apple.notification(in: body.payload, requestID: request.requestID)
        let digest = SHA256.hash(Array("\(apple.issuer.issuer)\0notification\0\(notification.id)".utf8))
        guard try await !apple.withRecords(request, { try await apple.spent.isSpent(digest) }) else {
            return Self.taken
        }
        let sessions = try endpoints.ownSessions()
        try await endpoints.refuseIdentityTokens(before: notification, requestID: request.requestID)
        let user = try await apple.withRecords(request) {
            try await sessions.users.user(issuer: apple.issuer.issuer, subject: notification.subject)
        }
        var answer = Self.taken
        if let user {
            admission.call.subject = user.id
            apple.logger.info(
                "notification from Apple",
                metadata: ["request_id": "\(request.requestID)", "event": "\(notification.event)"])
            answer.outcome = try await follow(notification, user, endpoints, request, &admission.call)
        }
        // Recorded only now, so that a notification whose effect failed, or was not yet shared, is processed when it is
        // resent. Processing it twice has no further effect.
        answer.lastStep = { () async throws(Refusal) in
            if let user, notification.event == .accountDeleted {
                try await endpoints.forget(user.id, requestID: request.requestID)
            }
            _ = try await apple.withRecords(request) {
                try await apple.spent.spend(digest, until: notification.endsAt, now: apple.now())
            }
        }
        return answer
    }

    private static let taken = AccountAnswer(.ok, ["success": true])

    /// - Parameter call: receives the operation that the notification results in.
    /// - Returns: the outcome of the call.
    private func follow(
        _ notification: AppleNotification, _ user: UserRecord, _ endpoints: SessionEndpoints,
        _ request: AccountRequest, _ call: inout AccountCall
    ) async throws(Refusal) -> AccountOutcome {
        switch notification.event {
        case .consentRevoked:
            // If the user consents again, it is the same user.
            call.operation = .logout
            try await endpoints.endConsent(
                of: user, to: notification.apps, upTo: notification.occurredAt, requestID: request.requestID)
        case .accountDeleted:
            // Nobody can sign in as this user again.
            call.operation = .deleteMe
            try await endpoints.endConsent(of: user, to: nil, upTo: .max, requestID: request.requestID)
            try await endpoints.revokeForever(user.id, requestID: request.requestID)
        case .emailDisabled, .emailEnabled:
            let changed = try await endpoints.setEmail(notification, of: user, requestID: request.requestID)
            if let changed { return .changed(changed.account) }
        case .unknown: break
        }
        return .succeeded
    }
}

/// The body of `POST apple/notifications`, as Apple sends it.
struct AppleNotificationBody: Sendable {
    /// A JWS.
    var payload: Secret

    /// - Throws: a 422 naming the faulty field.
    init(_ object: JSONObject) throws(Refusal) {
        var fields = RequestFields(object)
        payload = Secret(fields.requiredText("payload", atMost: 16_384, .address))
        try fields.check()
    }
}

extension AppleSignIn {
    /// - Throws: 401 if it is not a notification of Apple's for this gateway, or too old.
    fileprivate func notification(in payload: Secret, requestID: String) async throws(Refusal) -> AppleNotification {
        let payload = try await check.payload(payload)
        var audiences: Set<String> = []
        if case .apple(let apps) = issuer.profile { audiences = apps }
        do {
            return try AppleNotificationRules(
                issuer: issuer.issuer, audiences: audiences, skew: issuer.skew
            ).notification(in: payload, now: now())
        } catch {
            logger.warning(
                "a notification from Apple was refused",
                metadata: ["request_id": "\(requestID)", "error": "\(error.rawValue)"])
            throw AppleSignInError.notificationInvalid.refusal
        }
    }
}

extension SessionEndpoints {
    /// Identity tokens issued before a withdrawal, or before the deletion of an account, begin no session, whoever
    /// presents them, also for a user who is not known yet. A user who consents again within the same second may sign
    /// in.
    fileprivate func refuseIdentityTokens(
        before notification: AppleNotification, requestID: String
    ) async throws(Refusal) {
        let latest: Int64
        switch notification.event {
        case .consentRevoked: latest = notification.occurredAt - 1
        case .accountDeleted: latest = notification.occurredAt
        case .emailDisabled, .emailEnabled, .unknown: return
        }
        try await ownSessions().refuseIdentityTokens(
            of: notification.subject, by: apple.issuer.issuer, issuedUntil: latest,
            until: notification.occurredAt + apple.settings.maximumTokenAge + apple.issuer.skew, requestID: requestID)
    }

    /// Apple's tokens for the user are invalid. The notification may be late: consent given after the event remains.
    /// All sessions begun until the event end, since a session does not record its app.
    ///
    /// - Parameter apps: the apps whose consent has ended; nil: all.
    fileprivate func endConsent(
        of user: UserRecord, to apps: [String]?, upTo time: Int64, requestID: String
    ) async throws(Refusal) {
        let sessions = try ownSessions()
        let stored = try await sessions.withRecords(requestID) { try await sessions.records.sessions(of: user.id) }
        let meant = stored.filter { $0.endedAt == nil && $0.authTime <= time }
        try await sessions.end(meant, requestID: requestID)
        guard let grants = apple.grants else { return }
        try await sessions.withRecords(requestID) {
            for token in try await grants.records.appleTokens(of: user.id)
            where token.storedAt <= time && apps.map({ token.clientID.isOne(of: $0) }) ?? true {
                try await grants.records.remove(token)
            }
        }
    }

    /// Revokes all tokens of a user whose Apple account was deleted.
    fileprivate func revokeForever(_ userID: String, requestID: String) async throws(Refusal) {
        let sessions = try ownSessions()
        let stored = try await sessions.withRecords(requestID) { try await sessions.records.sessions(of: userID) }
        try await sessions.revokeForever(userID, meaning: stored, requestID)
    }

    /// An address that receives no mail is kept, but no longer counts as verified. An event about an address other than
    /// the stored one changes nothing, since a sign-in has replaced it. A new address is stored only if it is verified.
    ///
    /// - Returns: the user as of the event; nil if it changes nothing.
    fileprivate func setEmail(
        _ notification: AppleNotification, of user: UserRecord, requestID: String
    ) async throws(Refusal) -> UserRecord? {
        let isVerified = notification.event == .emailEnabled
        guard let address = notification.email ?? user.email,
            user.email.map({ $0.hasSameBytes(as: address) }) ?? isVerified
        else { return nil }
        let email = VouchedEmail(
            address: address, isVerified: isVerified,
            isPrivate: notification.isPrivateEmail ?? user.isPrivateEmail)
        let sessions = try ownSessions()
        let changed = try await sessions.withRecords(requestID) {
            try await sessions.users.setEmail(email, asOf: notification.occurredAt, of: user.id)
        }
        // A different time belongs to a later statement. A repeated event is reported again, since the first report may
        // have been lost with the process.
        return changed?.emailAsOf == notification.occurredAt ? changed : nil
    }
}
