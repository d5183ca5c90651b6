internal import Encoding

/// A notification from Apple's server about a user (Apple, "Processing changes for Sign in with Apple accounts").
struct AppleNotification: Sendable, Equatable {
    enum Event: Sendable, Equatable {
        /// The user has stopped using Sign in with Apple for these apps.
        case consentRevoked
        /// The Apple account was deleted.
        case accountDeleted
        /// Mail to the private address no longer reaches the user, or does again.
        case emailDisabled
        case emailEnabled
        /// A type that did not exist when this was written.
        case unknown
    }

    /// Identifies repeated deliveries.
    var id: String
    var event: Event
    var subject: String
    /// The apps concerned, limited to those that the gateway knows.
    var apps: [String]
    /// The address that the event concerns.
    var email: String?
    var isPrivateEmail: Bool?
    /// When the event happened, and until when the notification may be repeated, in seconds since 1970.
    var occurredAt: Int64
    var endsAt: Int64
}

/// The rules for a notification with a valid signature of Apple's. Pure.
struct AppleNotificationRules: Sendable {
    var issuer: String
    var audiences: Set<String>
    var skew: Int64
    /// How long after its issue a notification is accepted, in seconds, since it may have no expiry. Its id is stored
    /// for this time.
    var maximumAge: Int64

    init(issuer: String, audiences: Set<String>, skew: Int64 = 60, maximumAge: Int64 = 86_400) {
        self.issuer = issuer
        self.audiences = audiences
        self.skew = skew
        self.maximumAge = maximumAge
    }

    /// - Parameters:
    ///   - payload: the signed content.
    ///   - now: seconds since 1970.
    /// - Throws: the reason why it is not accepted.
    func notification(in payload: [UInt8], now: Int64) throws(AppleNotificationError) -> AppleNotification {
        guard let claims = (try? JSON.parse(payload))?.objectValue else { throw .malformed }
        guard claims["iss"]?.stringValue?.hasSameBytes(as: issuer) == true else { throw .issuer }
        let apps = Self.audiences(claims["aud"]).filter { $0.isOne(of: audiences) }
        guard !apps.isEmpty else { throw .audience }
        let endsAt = try checkTimes(claims, now)
        // Identity tokens with the same key and audience have no events.
        guard let id = Self.text(claims["jti"]), let event = Self.event(claims["events"]) else { throw .malformed }
        guard let type = Self.text(event["type"]), let subject = Self.text(event["sub"]) else { throw .malformed }
        let issuedAt = endsAt - maximumAge - skew
        return AppleNotification(
            id: id, event: Self.kind(type), subject: subject, apps: apps,
            email: AppleEmail.address(event["email"]), isPrivateEmail: event["is_private_email"]?.flagValue,
            occurredAt: occurrence(event["event_time"], issuedAt), endsAt: endsAt)
    }

    /// The time of the event, however long before the message: Apple repeats events for days. An implausible time is
    /// replaced by that of the message, which is later.
    private func occurrence(_ claim: JSON?, _ issuedAt: Int64) -> Int64 {
        guard let time = claim?.integerValue else { return issuedAt }
        // Apple sends milliseconds; its documentation shows seconds. A number this large is seconds only from the year
        // 5138 on.
        let seconds = time >= 100_000_000_000 ? time / 1000 : time
        return seconds >= Self.firstEvent && seconds <= issuedAt ? seconds : issuedAt
    }

    /// June 2019, when Sign in with Apple was announced.
    private static let firstEvent: Int64 = 1_559_347_200

    /// - Returns: when the notification is no longer accepted.
    private func checkTimes(_ claims: JSONObject, _ now: Int64) throws(AppleNotificationError) -> Int64 {
        guard let issuedAt = claims["iat"]?.numberValue?.numericDate, issuedAt <= now + skew else { throw .issuedAt }
        guard issuedAt >= now - maximumAge else { throw .tooOld }
        if let claim = claims["nbf"] {
            guard let begins = claim.numberValue?.numericDate, begins <= now + skew else { throw .issuedAt }
        }
        if let claim = claims["exp"] {
            guard let expires = claim.numberValue?.numericDate, now < expires + skew else { throw .tooOld }
        }
        return issuedAt + maximumAge + skew
    }

    private static func audiences(_ claim: JSON?) -> [String] {
        switch claim {
        case .string(let name): [name]
        case .array(let names): names.compactMap(\.stringValue)
        default: []
        }
    }

    /// Apple encodes the object as a JSON string; its documentation shows the object itself.
    private static func event(_ claim: JSON?) -> JSONObject? {
        if let text = claim?.stringValue { return (try? JSON.parse(Array(text.utf8)))?.objectValue }
        return claim?.objectValue
    }

    private static func kind(_ type: String) -> AppleNotification.Event {
        switch ExactText(type) {
        case "consent-revoked": .consentRevoked
        case "account-delete", "account-deleted": .accountDeleted
        case "email-disabled": .emailDisabled
        case "email-enabled": .emailEnabled
        default: .unknown
        }
    }

    private static func text(_ claim: JSON?) -> String? {
        claim?.stringValue.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
    }
}

/// The reason why a payload that Apple signed is not a notification for this gateway. For the log.
enum AppleNotificationError: String, Error, Sendable {
    case malformed, issuer, audience, issuedAt, tooOld
}
