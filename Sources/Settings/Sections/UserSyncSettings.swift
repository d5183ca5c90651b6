internal import SettingsReader

/// The user events that the backend is notified of.
package enum UserSyncEvent: String, Sendable, CaseIterable {
    case signedIn = "signed_in"
    case confirmed
    case updated
    case deleted
}

/// Whether a sign-in waits until the backend has been notified.
package enum UserSyncMode: String, Sendable, CaseIterable {
    /// The backend is notified as soon as possible, at least once.
    case background
    /// A sign-in succeeds only after the backend has been notified.
    case required
}

/// The notification of the backend about users.
package struct UserSyncSettings: Sendable {
    package var url: ServiceURL
    package var events: [UserSyncEvent]
    package var mode: UserSyncMode
    /// The `aud` of the notifications.
    package var audience: String
    package var timeout: Duration
    /// Whether the backend's response is the `user` that the app receives.
    package var responds: Bool
}

extension UserSyncSettings {
    /// - Parameter identity: the identity settings, whose assertion keys sign the notifications.
    init?(reading keys: SettingsMapping, identity: IdentitySettings) {
        let url = keys.webhookURL()
        let words = UserSyncEvent.allCases.map(\.rawValue)
        if keys.isEmptyList("events") { keys.error("events", "must name at least one") }
        let events = keys.list("events", .word(among: words), of: "events") ?? words
        let mode = keys.value("mode", .oneOf, default: UserSyncMode.background)
        if mode == .required, !events.contains(UserSyncEvent.signedIn.rawValue) {
            keys.error("mode", "required is about signed_in, which events leaves out")
        }
        let audience = keys.value("audience", .identifier)
        let timeout = keys.value("timeout", .duration(.milliseconds(100) ... .seconds(60)), default: .seconds(5))
        let responds = keys.value("respond", .boolean, default: false)
        if responds, mode != .required { keys.error("respond", "needs mode: required") }
        if identity.assertion == nil {
            keys.node.error("needs identity.assertion: what is sent is signed with its keys")
        }
        guard let url else { return nil }
        self.init(
            url: url, events: events.compactMap(UserSyncEvent.init), mode: mode,
            audience: audience ?? url.description, timeout: timeout, responds: responds)
    }
}
