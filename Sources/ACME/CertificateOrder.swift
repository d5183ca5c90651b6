/// The certificates that a gateway wants, and the directory that they come from.
package struct CertificateOrder: Sendable, Equatable {
    /// The directory's https URL.
    package var directory: String
    /// E-mail addresses.
    package var contacts: [String]
    package var challenge: ACMEChallengeType
    /// Host names in lower case. Each gets a certificate of its own, so that one which cannot be validated keeps no
    /// other from being renewed.
    package var names: [String]

    package init(directory: String, contacts: [String], challenge: ACMEChallengeType, names: [String]) {
        self.directory = directory
        self.contacts = contacts
        self.challenge = challenge
        self.names = names
    }
}

/// How it stands with the certificate of one name, for operators.
package struct CertificateStanding: Sendable, Equatable {
    package let name: String
    /// Seconds since 1970; nil where there is none yet.
    package let obtainedAt: Int64?
    /// The certificate's end, in seconds since 1970; nil where there is none yet.
    package let expiresAt: Int64?
    /// When the next order may be made, in seconds since 1970; nil where that is at once.
    package let nextAttemptAt: Int64?
    /// Attempts that have failed since.
    package let failures: Int64
    /// Why there is no certificate, or no newer one; nil where nothing has failed.
    package let error: String?
    /// Since when that is so, in seconds since 1970.
    package let failingSince: Int64?
}
