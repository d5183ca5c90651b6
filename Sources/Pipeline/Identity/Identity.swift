/// The caller of a request, as a verified token says, and as ``IdentityLines`` tells the backend.
package struct Identity: Sendable, Equatable {
    package var subject: String
    package var email: String?
    package var emailVerified: Bool?
    package var username: String?
    package var groups: [String]
    package var scopes: [String]
    /// The `iss` claim.
    package var issuer: String
    /// The app client the token was issued to.
    package var clientID: String
    package var tokenUse: TokenUse
    /// When the token ends, in seconds since 1970.
    package var expires: Int64

    package init(
        subject: String,
        email: String? = nil,
        emailVerified: Bool? = nil,
        username: String? = nil,
        groups: [String] = [],
        scopes: [String] = [],
        issuer: String,
        clientID: String,
        tokenUse: TokenUse,
        expires: Int64
    ) {
        self.subject = subject
        self.email = email
        self.emailVerified = emailVerified
        self.username = username
        self.groups = groups
        self.scopes = scopes
        self.issuer = issuer
        self.clientID = clientID
        self.tokenUse = tokenUse
        self.expires = expires
    }

    /// The identity that a verified token gives to the backend.
    package init(_ token: VerifiedToken) {
        self.init(
            subject: token.subject, email: token.email, emailVerified: token.emailVerified, username: token.username,
            groups: token.groups, scopes: token.scopes, issuer: token.issuer, clientID: token.clientID,
            tokenUse: token.tokenUse, expires: token.expires)
    }
}

/// Why an identity can't be told to the backend; the request is then refused, never sent on without the header.
package enum IdentityError: Error, Sendable, Equatable {
    /// The encoded value of this header is over ``IdentityLines/maximumValueLength`` bytes, or all lines are with it
    /// over ``IdentityLines/maximumLength``.
    case tooLarge(header: String)
    case emptySubject
}
