internal import Accounts
internal import Encoding

/// Whom Apple says that a user is, as far as it may be believed.
struct AppleIdentity: Sendable, Equatable {
    /// Apple's own guess whether there is a person behind a new account.
    enum RealUserStatus: Int64, Sendable {
        case unsupported = 0
        case unknown = 1
        case likelyReal = 2

        /// As the audit log has it.
        var name: String {
            switch self {
            case .unsupported: "unsupported"
            case .unknown: "unknown"
            case .likelyReal: "likely_real"
            }
        }
    }

    /// With ``subject`` the user's name everywhere: an e-mail address never is.
    var issuer: String
    /// The same for all apps of one developer team.
    var subject: String
    /// The app that the user signed in to: the client id towards Apple.
    var audience: String
    /// Nil where no app has one.
    var role: String?
    /// Nil unless Apple has verified it.
    var email: String?
    /// Whether it is an address of Apple's private relay; nil where Apple does not say.
    var isPrivateEmail: Bool?
    var realUserStatus: RealUserStatus?
    /// Seconds since 1970.
    var expires: Int64
    var issuedAt: Int64

    init(
        issuer: String, subject: String, audience: String, role: String?, email: String? = nil,
        isPrivateEmail: Bool? = nil, realUserStatus: RealUserStatus? = nil, expires: Int64, issuedAt: Int64
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.role = role
        self.email = email
        self.isPrivateEmail = isPrivateEmail
        self.realUserStatus = realUserStatus
        self.expires = expires
        self.issuedAt = issuedAt
    }
}

/// An e-mail address of Apple's as it may be kept.
enum AppleEmail {
    /// The longest address there is (RFC 5321, 4.5.3.1, by erratum 1690).
    private static let maximumLength = 254

    /// Nil for a claim that is no address, or one that a page could take for markup.
    static func address(_ claim: JSON?) -> String? {
        guard let text = claim?.stringValue, !text.isEmpty, Grammar.email.error(of: text, atMost: maximumLength) == nil,
            !text.utf8.contains(where: Grammar.isMarkup)
        else { return nil }
        return text
    }
}
