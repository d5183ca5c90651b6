/// The purpose of a key of the gateway's own.
package enum KeyPurpose: String, Sendable, CaseIterable {
    /// Signs what backends are told of a caller.
    case assertion
    /// Signs the gateway's own session tokens.
    case session
    /// Seals the refresh tokens that clients keep.
    case sealing
    /// Hashes the names of users in the audit log. Hashes under different keys cannot be compared.
    case audit
    /// Hashes what limits count by: with another key all counts, locks and known devices begin anew.
    case limits

    /// Whether verifiers must have seen a key before it is used: what is sealed only the gateway itself opens.
    package var publishesKeys: Bool { !isSymmetric }

    /// Whether a key is 32 random bytes.
    package var isSymmetric: Bool {
        switch self {
        case .assertion, .session: false
        case .sealing, .audit, .limits: true
        }
    }

    /// The name of the keys' file in a state directory.
    package var fileName: String { "\(rawValue)-keys.json" }

    /// The names that the file has, or had in earlier versions.
    package var fileNames: [String] { [fileName] + (self == .sealing ? [Self.singleSealingKeyName] : []) }

    /// The file in which earlier versions kept their one sealing key, as its 32 bytes.
    package static let singleSealingKeyName = "sealing.key"
}
