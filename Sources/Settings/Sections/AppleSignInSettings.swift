package import Pipeline
internal import SettingsReader

/// The section `sign_in.apple`: the sign-in of users and related features.
package struct AppleSettings: Sendable {
    /// The name of the issuer of identity tokens.
    package var issuer: String
    /// The prefix of the endpoints' paths, such as `/api/auth`.
    package var prefix: String
    package var signIn: AppleSignInSettings
    /// The upstream of forwarded sign-ins; nil if none are forwarded.
    package var upstream: String?
    /// Nil unless the gateway manages sessions.
    package var session: UserSessionSettings?
    /// The connection to Apple's server; nil: none.
    package var server: AppleServerSettings?
    /// Whether Apple's server-to-server notifications about users are accepted.
    package var notifications: Bool
    package var crossOrigin: CrossOrigin?
}

extension AppleSettings {
    init?(reading keys: SettingsMapping, known: KnownNames) {
        let issuer = keys.required("issuer", .reference(to: "issuer", among: known.issuers))
        let apps = keys.apps(known, issuer)
        let prefix = keys.value("prefix", .pathPrefix, default: "/api/auth")
        let roles = keys.roles(of: apps, issuer)
        let conflict = RoleConflictMessages(of: keys, roles: Set(roles.values))
        var signIn = AppleSignInSettings(roles: roles, roleConflict: conflict)
        let mode = keys.value("mode", .oneOf, default: signIn.mode)
        signIn.mode = mode
        let legacy = ScalarFormat.word(among: ["reject", "forward"])
        signIn.forwardsLegacy = keys.value("legacy_user_identifier", legacy, default: "reject") == "forward"
        let upstream = keys.forwardedTo(known, isNeeded: mode == .forward || signIn.forwardsLegacy)
        let age = keys.value("maximum_token_age", .duration(.seconds(30)...(.seconds(86_400))), default: .seconds(600))
        signIn.maximumTokenAge = age.components.seconds
        signIn.serverNonce = keys.value("server_nonce", .oneOf, default: signIn.serverNonce)
        let nonceLife = keys.value(
            "server_nonce_lifetime", .duration(.seconds(30) ... .seconds(3600)), default: .seconds(300))
        signIn.serverNonceLifetime = nonceLife.components.seconds
        signIn.userFields = UserFields(reading: keys, known: AppleSignInSettings.userFieldSources)
        let session = keys.userSession(known, hasSessions: mode == .terminate)
        let server = keys.optional("server")?.section(AppleServerSettings.init(reading:)) ?? nil
        let notifications = keys.value("notifications", .boolean, default: mode == .terminate)
        let crossOrigin = keys.optional("cors")?.section(CrossOrigin.init(reading:)) ?? nil
        if mode == .forward {
            // The backend that manages the users exchanges their codes and receives the notifications.
            if server != nil { keys.error("server", "has no effect with mode: forward") }
            if notifications { keys.error("notifications", "has no effect with mode: forward") }
        }
        guard let issuer else { return nil }
        self.init(
            issuer: issuer, prefix: prefix, signIn: signIn, upstream: upstream, session: session, server: server,
            notifications: notifications, crossOrigin: crossOrigin)
    }
}

extension SettingsMapping {
    /// The apps that sign in; nil if the issuer is invalid.
    fileprivate func apps(_ known: KnownNames, _ name: String?) -> [String]? {
        guard let issuer = name.flatMap(known.issuer(named:)) else { return nil }
        guard case .apple(let audiences) = issuer.rules else {
            error("issuer", "must be Apple: issuers.\(issuer.name) has another profile than apple")
            return nil
        }
        return audiences
    }

    /// The role for each app. Either all apps have a role or none: otherwise a user of an app without one would get the
    /// role of the next app.
    fileprivate func roles(of apps: [String]?, _ issuer: String?) -> [String: String] {
        guard let node = optional("roles") else { return [:] }
        var roles: [String: String] = [:]
        for (app, entry) in node.identifiedEntries() {
            if let apps, !apps.contains(app) {
                entry.error("\"\(app)\" is none of issuers.\(issuer ?? "").audiences")
            }
            roles[app] = entry.read(.identifier)
        }
        for app in apps ?? [] where roles[app] == nil && !roles.isEmpty {
            node.error("has no role for \(app)")
        }
        return roles
    }

    fileprivate func forwardedTo(_ known: KnownNames, isNeeded: Bool) -> String? {
        let upstream = value("upstream", .reference(to: "upstream", among: known.upstreams))
        if isNeeded, !has("upstream") {
            node.error("needs upstream: where sign-ins go with mode: forward or legacy_user_identifier: forward")
        }
        if !isNeeded, has("upstream") {
            error("upstream", "has no effect without mode: forward or legacy_user_identifier: forward")
        }
        return isNeeded ? upstream : nil
    }

    fileprivate func userSession(_ known: KnownNames, hasSessions: Bool) -> UserSessionSettings? {
        guard let node = optional("session") else {
            if hasSessions { self.node.error("needs session, unless mode is forward") }
            return nil
        }
        if !hasSessions { node.error("has no effect with mode: forward: the backend keeps sessions") }
        return node.section { UserSessionSettings(reading: $0, known: known) } ?? nil
    }
}
