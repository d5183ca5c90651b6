package import Cryptography

/// The credentials that sign an AWS account's calls.
package struct AWSCredentials: Sendable, Equatable {
    package var accessKeyID: String
    package var secretAccessKey: Secret
    var sessionToken: Secret?
    /// In seconds since 1970; `nil` for those that stay.
    package var expiresAt: Int64?

    package init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil, expiresAt: Int64? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
    }
}

/// Why there are no credentials. The raw value is for the log.
package enum AWSCredentialError: String, Error, Sendable {
    /// No source has any.
    case none = "NoCredentials"
    /// A source that should have some gave no usable answer.
    case unusable = "UnusableCredentials"
}

/// Where credentials come from.
package protocol AWSCredentialSource: Sendable {
    func credentials() async throws(AWSCredentialError) -> AWSCredentials
}
