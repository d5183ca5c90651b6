/// The purpose of a token. One kind is never accepted for another.
package enum TokenUse: String, Sendable, Hashable, CaseIterable {
    /// Grants access to an API.
    case access
    /// Identifies a user (OpenID Connect Core 1.0, 2).
    case id
    /// The gateway's own session.
    case session

    var bit: UInt8 {
        switch self {
        case .access: 1
        case .id: 2
        case .session: 4
        }
    }
}
