/// The side that keeps users and sessions.
package enum AppleSignInMode: String, Sendable, CaseIterable {
    /// The gateway: a sign-in gives a session of its own.
    case terminate
    /// A backend: it gets the sign-in, verified.
    case forward
}

/// The treatment of a sign-in that names a user and proves nothing.
package enum LegacyUserIdentifierSetting: String, Sendable, CaseIterable {
    case reject
    /// It goes to the backend, unverified and without identity.
    case forward
}

/// Whether a sign-in must have a nonce that the gateway gave out.
package enum ServerNonceSetting: String, Sendable, CaseIterable {
    /// None is given out.
    case off
    case optional
    case required
}

/// Sign-in with Apple.
package struct AppleSignInSettings: Sendable {
    /// The name of the issuer of identity tokens.
    package var issuer: String
    /// The prefix of the endpoints' paths, such as `/api/auth`.
    package var prefix: String
    /// The role of an app's users, by its id; empty: users have none. Else every app of the issuer's has one.
    package var roles: [String: String]
    package var roleConflictMessage: String
    package var mode: AppleSignInMode
    /// Where sign-ins go that are forwarded; set where any are.
    package var upstream: String?
    package var legacyUserIdentifier: LegacyUserIdentifierSetting
    /// How old an identity token may be.
    package var maximumTokenAge: Duration
    package var serverNonce: ServerNonceSetting
    package var serverNonceLifetime: Duration
    /// Set where the gateway keeps sessions.
    package var session: UserSessionSettings?
    /// How the gateway speaks to Apple; nil: it doesn't.
    package var server: AppleServerSettings?
    /// Whether Apple's messages about users are taken.
    package var notifications: Bool
    package var crossOrigin: CrossOriginSettings?
}

extension AppleSignInSettings {
    init?(reading keys: SettingsMapping, known: KnownNames) {
        let issuer = keys.required("issuer", .reference(to: "issuer", among: known.issuers))
        let apps = keys.apps(known, issuer)
        let prefix = keys.value("prefix", .pathPrefix, default: "/api/auth")
        let roles = keys.roles(of: apps, issuer)
        let conflict = keys.value("role_conflict_message", .text, default: "This account is in use with another app.")
        let mode = keys.value("mode", .oneOf, default: AppleSignInMode.terminate)
        let legacy = keys.value("legacy_user_identifier", .oneOf, default: LegacyUserIdentifierSetting.reject)
        let upstream = keys.forwardedTo(known, isNeeded: mode == .forward || legacy == .forward)
        let age = keys.value("maximum_token_age", .duration(.seconds(30)...(.seconds(86_400))), default: .seconds(600))
        let nonce = keys.value("server_nonce", .oneOf, default: ServerNonceSetting.optional)
        let nonceLife = keys.value(
            "server_nonce_lifetime", .duration(.seconds(30) ... .seconds(3600)), default: .seconds(300))
        let session = keys.userSession(known, isKept: mode == .terminate)
        let server = keys.optional("server")?.section(AppleServerSettings.init(reading:)) ?? nil
        let notifications = keys.value("notifications", .boolean, default: mode == .terminate)
        let crossOrigin = keys.optional("cors")?.section(CrossOriginSettings.init(reading:)) ?? nil
        if mode == .forward {
            // The side that keeps the users exchanges their codes and hears of them.
            if server != nil { keys.fault("server", "has no effect with mode: forward") }
            if notifications { keys.fault("notifications", "has no effect with mode: forward") }
        }
        guard let issuer else { return nil }
        self.init(
            issuer: issuer, prefix: prefix, roles: roles, roleConflictMessage: conflict, mode: mode,
            upstream: upstream, legacyUserIdentifier: legacy, maximumTokenAge: age, serverNonce: nonce,
            serverNonceLifetime: nonceLife, session: session, server: server, notifications: notifications,
            crossOrigin: crossOrigin)
    }
}

extension SettingsMapping {
    /// The apps that sign in; nil where the issuer itself is faulty.
    fileprivate func apps(_ known: KnownNames, _ name: String?) -> [String]? {
        guard let issuer = name.flatMap(known.issuer(named:)) else { return nil }
        guard case .apple(let audiences) = issuer.rules else {
            fault("issuer", "must be Apple: issuers.\(issuer.name) has another profile than apple")
            return nil
        }
        return audiences
    }

    /// A user whose app has no role would be refused by every other app: so all have one, or none.
    fileprivate func roles(of apps: [String]?, _ issuer: String?) -> [String: String] {
        guard let node = optional("roles") else { return [:] }
        var roles: [String: String] = [:]
        for (app, entry) in node.identifiedEntries() {
            if let apps, !apps.contains(app) {
                entry.fault("\"\(app)\" is none of issuers.\(issuer ?? "").audiences")
            }
            roles[app] = entry.read(.identifier)
        }
        for app in apps ?? [] where roles[app] == nil && !roles.isEmpty {
            node.fault("has no role for \(app)")
        }
        return roles
    }

    fileprivate func forwardedTo(_ known: KnownNames, isNeeded: Bool) -> String? {
        let upstream = value("upstream", .reference(to: "upstream", among: known.upstreams))
        if isNeeded, !has("upstream") {
            node.fault("needs upstream: where sign-ins go with mode: forward or legacy_user_identifier: forward")
        }
        if !isNeeded, has("upstream") {
            fault("upstream", "has no effect without mode: forward or legacy_user_identifier: forward")
        }
        return isNeeded ? upstream : nil
    }

    fileprivate func userSession(_ known: KnownNames, isKept: Bool) -> UserSessionSettings? {
        guard let node = optional("session") else {
            if isKept { self.node.fault("needs session, unless mode is forward") }
            return nil
        }
        if !isKept { node.fault("has no effect with mode: forward: the backend keeps sessions") }
        return node.section { UserSessionSettings(reading: $0, known: known) } ?? nil
    }
}
