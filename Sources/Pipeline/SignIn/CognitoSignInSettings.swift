package import Cryptography

/// How users of a Cognito user pool sign in, by an app client whose secret the gateway has.
package struct CognitoSignInSettings: Sendable {
    /// Cognito's API, such as `https://cognito-idp.eu-west-1.amazonaws.com/`.
    package var endpoint: String
    /// The `iss` of the pool's tokens. Tokens of other issuers are not shown to Cognito.
    package var issuer: String
    /// Such as `eu-west-1_AbCdEfGhI`.
    package var poolID: String
    package var clientID: String
    /// `nil` for an app client that has none.
    package var clientSecret: Secret?
    /// How long a sign-in can be refreshed with `remember_me`, in seconds.
    package var refreshLifetime: Int64
    /// How long a sign-in can be refreshed without `remember_me`, in seconds; never more than `refreshLifetime`.
    package var briefRefreshLifetime: Int64
    /// How long a device token is good, in seconds. Each sign-in with it gives a new one.
    package var deviceTokenLifetime: Int64
    /// How a password is proven to Cognito.
    package var flow: SignInFlow
    /// Whether a refresh of a session that is bound to a device must name the device.
    package var requiresDevice: Bool
    /// Whether registering an address that has an account looks as if it had none.
    package var concealsExistingUsers: Bool
    /// The name that authenticator apps show beside the account.
    package var totpIssuer: String
    /// Whether clients get the ID token too.
    package var returnIDToken: Bool
    /// Whether Cognito is told the client's address, which its app client must allow
    /// (`EnablePropagateAdditionalUserContextData`).
    package var propagateClientAddress: Bool
    /// The kinds of name that users may sign in with.
    package var acceptedNames: Set<AccountNameKind>
    /// The user name that a registration gives Cognito.
    package var registrationName = RegistrationName.signInName
    /// The attributes that users may set.
    package var writableAttributes: WritableAttributes
    /// Nil: apps' own refresh tokens of Cognito's are refused.
    package var sessionTakeover: SessionTakeover?
    /// The proof for a change of e-mail address or phone number.
    package var contactChange = ContactChangeSettings()
    /// Further members of `user`.
    package var userFields = UserFields()
    package var triggerRefusals = TriggerRefusalSettings()
    package var passwordChanges = PasswordChangeSettings()
    /// The most time one call to Cognito may take.
    package var deadline: Duration
    /// Sign-in on Cognito's own pages; nil while it is off.
    package var hosted: HostedSignInSettings?
    /// The sign-ins without a password.
    package var choice = SignInChoiceSettings()

    /// How many seconds after its issue an access token can still be accepted: a day is the longest life that Cognito
    /// gives one, and the clock skew comes on top.
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
