package import Cryptography

/// The settings for sign-in with a Cognito user pool, through an app client of the gateway.
package struct CognitoSignInSettings: Sendable {
    /// Cognito's API, such as `https://cognito-idp.eu-west-1.amazonaws.com/`.
    package var endpoint: String
    /// The `iss` of the pool's tokens. Tokens of other issuers are not sent to Cognito.
    package var issuer: String
    /// For example `eu-west-1_AbCdEfGhI`.
    package var poolID: String
    package var clientID: String
    /// Nil for an app client without a secret.
    package var clientSecret: Secret?
    /// The time in which a sign-in with `remember_me` can be refreshed, in seconds.
    package var refreshLifetime: Int64
    /// The time in which a sign-in without `remember_me` can be refreshed, in seconds; at most `refreshLifetime`.
    package var briefRefreshLifetime: Int64
    /// The lifetime of a device token, in seconds. Each sign-in with one issues a new one.
    package var deviceTokenLifetime: Int64
    /// The flow that proves a password to Cognito.
    package var flow: SignInFlow
    /// Whether a refresh of a session that is bound to a device must name the device.
    package var requiresDevice: Bool
    /// Whether registering an address conceals that it already has an account.
    package var concealsExistingUsers: Bool
    /// The name that authenticator apps show beside the account.
    package var totpIssuer: String
    /// Whether clients also receive the ID token.
    package var returnIDToken: Bool
    /// Whether the client's address is sent to Cognito, which the app client must allow
    /// (`EnablePropagateAdditionalUserContextData`).
    package var propagateClientAddress: Bool
    /// The kinds of names that users may sign in with.
    package var acceptedNames: Set<AccountNameKind>
    /// The user name that a registration gives Cognito.
    package var registrationName = RegistrationName.signInName
    /// The attributes that users may set.
    package var writableAttributes: WritableAttributes
    /// Nil if refresh tokens that apps got from Cognito are refused.
    package var sessionTakeover: SessionTakeover?
    /// The proof for a change of e-mail address or phone number.
    package var contactChange = ContactChangeSettings()
    /// Further members of `user`.
    package var userFields = UserFields()
    package var triggerRefusals = TriggerRefusalSettings()
    package var passwordChanges = PasswordChangeSettings()
    /// The time limit of a call to Cognito.
    package var deadline: Duration
    /// Sign-in on Cognito's own pages; nil if it is off.
    package var hosted: HostedSignInSettings?
    /// The settings for sign-ins without a password.
    package var choice = SignInChoiceSettings()

    /// The time after its issue in which an access token can be accepted, in seconds: a day, which is the longest
    /// lifetime that Cognito allows, plus the clock skew.
    package static let longestAccessToken = 86_400 + Issuer.longestSkew

    package init(
        endpoint: String, issuer: String, poolID: String, clientID: String, clientSecret: Secret?,
        refreshLifetime: Int64 = 30 * 86_400, briefRefreshLifetime: Int64 = 86_400,
        deviceTokenLifetime: Int64 = 90 * 86_400, flow: SignInFlow = .password, requiresDevice: Bool = false,
        concealsExistingUsers: Bool = false, totpIssuer: String = "Gatehouse", returnIDToken: Bool = false,
        propagateClientAddress: Bool = false, acceptedNames: Set<AccountNameKind> = [.email],
        writableAttributes: WritableAttributes = .standard, deadline: Duration = .seconds(5)
    ) {
        self.endpoint = endpoint
        self.issuer = issuer
        self.poolID = poolID
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.refreshLifetime = refreshLifetime
        self.briefRefreshLifetime = briefRefreshLifetime
        self.deviceTokenLifetime = deviceTokenLifetime
        self.flow = flow
        self.requiresDevice = requiresDevice
        self.concealsExistingUsers = concealsExistingUsers
        self.totpIssuer = totpIssuer
        self.returnIDToken = returnIDToken
        self.propagateClientAddress = propagateClientAddress
        self.acceptedNames = acceptedNames
        self.writableAttributes = writableAttributes
        self.deadline = deadline
    }
}
