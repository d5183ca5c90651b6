/// The certificates that a gateway obtains by ACME, and the directory that issues them.
package struct CertificateSettings: Sendable, Equatable {
    /// The directory's https URL.
    package var directory: String
    /// E-mail addresses.
    package var contacts: [String]
    package var challenge: ACMEChallengeType
    /// Host names in lower case. Each has a certificate of its own, so that a name that cannot be validated does not
    /// prevent the renewal of the others.
    package var names: [String]

    package init(directory: String, contacts: [String], challenge: ACMEChallengeType, names: [String]) {
        self.directory = directory
        self.contacts = contacts
        self.challenge = challenge
        self.names = names
    }
}

/// The status of one name's certificate, for operators.
package struct CertificateStatus: Sendable, Equatable {
    package let name: String
    /// Seconds since 1970; nil if there is no certificate yet.
    package let obtainedAt: Int64?
    /// The certificate's expiry, in seconds since 1970; nil if there is no certificate yet.
    package let expiresAt: Int64?
    /// The time of the next attempt, in seconds since 1970; nil if it may be made now.
    package let nextAttemptAt: Int64?
    /// Failed attempts since the last success.
    package let failures: Int64
    /// The last failure; nil if the last attempt succeeded.
    package let error: String?
    /// When the failures began, in seconds since 1970; nil if there are none.
    package let failingSince: Int64?
}
