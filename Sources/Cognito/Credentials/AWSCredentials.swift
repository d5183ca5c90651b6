package import Cryptography

/// AWS credentials for signing calls.
package struct AWSCredentials: Sendable, Equatable {
    package var accessKeyID: String
    package var secretAccessKey: Secret
    var sessionToken: Secret?
    /// In seconds since 1970; nil for credentials without an expiry.
    package var expiresAt: Int64?

    package init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil, expiresAt: Int64? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
    }
}

/// The reason why there are no credentials. The raw value is for the log.
package enum AWSCredentialError: String, Error, Sendable {
    /// No source has credentials.
    case none = "NoCredentials"
    /// A source that should have credentials gave no usable response.
    case unusable = "UnusableCredentials"
}

/// A source of AWS credentials.
package protocol AWSCredentialSource: Sendable {
    func credentials() async throws(AWSCredentialError) -> AWSCredentials
}
