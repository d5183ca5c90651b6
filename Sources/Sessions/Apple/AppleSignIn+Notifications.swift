internal import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Store

extension AppleSignIn {
    /// `POST apple/notifications`. Repeated notifications, those about unknown users and those of unknown kinds
    /// succeed: Apple would send them again and again.
    func receive(
        _ body: AppleNotificationBody, _ endpoints: SessionEndpoints, _ request: SessionRequest,
        _ call: inout AccountCall
    ) async throws(Refusal) -> AccountAnswer {
        let payload = try await check.payload(body.payload)
        let notification: AppleNotification
        do {
            notification = try notificationRules.notification(in: payload, now: now())
        } catch {
            logger.warning(
                "a notification of Apple's was not taken",
                metadata: ["request_id": "\(request.requestID)", "error": "\(error.rawValue)"])
            throw AppleFault.notificationInvalid.refusal
        }
        let digest = SHA256.hash(Array("\(settings.issuer.issuer)\0notification\0\(notification.id)".utf8))
        guard try await !kept(request, { try await spent.isSpent(digest) }) else { return Self.taken }
        let sessions = try endpoints.kept()
        let user = try await kept(request) {
            try await sessions.users.user(issuer: settings.issuer.issuer, subject: notification.subject)
        }
        if let user {
            call.subject = user.id
            try await follow(notification, user, endpoints, sessions, request, &call)
        }
        // Last, so that one whose effect failed is taken when it comes again. To do it twice does nothing more.
        _ = try await kept(request) { try await spent.spend(digest, until: notification.endsAt, now: now()) }
        return Self.taken
    }

    private static let taken = AccountAnswer(.ok, ["success": true])

    private var notificationRules: AppleNotificationRules {
        var audiences: Set<String> = []
        if case .apple(let apps) = settings.issuer.profile { audiences = apps }
        return AppleNotificationRules(
            issuer: settings.issuer.issuer, audiences: audiences, skew: settings.issuer.skew)
    }

    /// - Parameter call: is told of as what it comes to.
    private func follow(
        _ notification: AppleNotification, _ user: UserRecord, _ endpoints: SessionEndpoints,
        _ sessions: UserSessions, _ request: SessionRequest, _ call: inout AccountCall
    ) async throws(Refusal) {
        logger.info(
            "a notification of Apple's",
            metadata: ["request_id": "\(request.requestID)", "event": "\(notification.event)"])
        switch notification.event {
        case .consentRevoked:
            // A user who consents again is the same one.
            call.operation = .logout
            try await endConsent(of: user, upTo: notification.occurredAt, sessions, request)
        case .accountDeleted:
            // Nobody can ever sign in as this user again.
            call.operation = .deleteMe
            try await endConsent(of: user, upTo: .max, sessions, request)
            try await endpoints.delete(user.id, requestID: request.requestID)
        case .emailDisabled, .emailEnabled:
            try await setEmail(notification, of: user, sessions, request)
        case .unknown: break
        }
    }

    /// Apple's tokens for the user are void. The notification may be late: consent given since then goes on.
    private func endConsent(
        of user: UserRecord, upTo time: Int64, _ sessions: UserSessions, _ request: SessionRequest
    ) async throws(Refusal) {
        let held = try await kept(request) { try await sessions.records.sessions(of: user.id) }
        let meant = held.filter { $0.endedAt == nil && $0.authTime <= time }
        try await sessions.end(meant, requestID: request.requestID)
        guard let grants else { return }
        try await kept(request) {
            for token in try await grants.records.appleTokens(of: user.id) where token.keptAt <= time {
                try await grants.records.remove(token)
            }
        }
    }

    /// An address that mail does not reach is kept, and counts as verified no more.
    private func setEmail(
        _ notification: AppleNotification, of user: UserRecord, _ sessions: UserSessions, _ request: SessionRequest
    ) async throws(Refusal) {
        guard let address = notification.email ?? user.email else { return }
        let email = VouchedEmail(
            address: address, isVerified: notification.event == .emailEnabled,
            isPrivate: notification.isPrivateEmail ?? user.isPrivateEmail)
        _ = try await kept(request) {
            try await sessions.users.setEmail(email, asOf: notification.occurredAt, of: user.id)
        }
    }
}
