package import Pipeline
package import Settings

extension UserSessionSettings {
    package init(_ session: Settings.UserSessionSettings, issuer: Issuer) {
        self.init(
            issuer: issuer, audience: session.audience, lifetime: session.lifetime.components.seconds,
            refreshWithin: session.refreshWithin.components.seconds,
            absoluteLifetime: session.absoluteLifetime.components.seconds,
            idleLifetime: session.idleLifetime.components.seconds)
    }
}
