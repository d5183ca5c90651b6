internal import Accounts
internal import Encoding

/// The user's identity according to Apple, limited to what can be trusted.
struct AppleIdentity: Sendable, Equatable {
    /// Apple's estimate of whether a new account belongs to a real person.
    enum RealUserStatus: Int64, Sendable {
        case unsupported = 0
        case unknown = 1
        case likelyReal = 2

        /// The name in the audit log.
        var name: String {
            switch self {
            case .unsupported: "unsupported"
            case .unknown: "unknown"
            case .likelyReal: "likely_real"
            }
        }
    }

    /// Identifies the user together with ``subject``; an e-mail address never does.
    var issuer: String
    /// The same for all apps of one developer team.
    var subject: String
    /// The app that the user signed in to: the client id registered with Apple.
    var audience: String
    /// Nil if no roles are configured.
    var role: String?
    /// Nil unless Apple has verified it.
    var email: String?
    /// Whether it is an address of Apple's private relay; nil if Apple does not say.
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

/// The check of Apple's e-mail addresses before they are stored.
enum AppleEmail {
    /// The maximum length of an address (RFC 5321, 4.5.3.1, by erratum 1690).
    private static let maximumLength = 254

    /// Nil if the claim is not an address, or if a page could interpret it as markup.
    static func address(_ claim: JSON?) -> String? {
        guard let text = claim?.stringValue, !text.isEmpty, Grammar.email.error(of: text, atMost: maximumLength) == nil,
            !text.utf8.contains(where: Grammar.isMarkup)
        else { return nil }
        return text
    }
}
