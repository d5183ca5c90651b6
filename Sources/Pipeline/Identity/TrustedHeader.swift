/// A request header that a server, framework, CDN or proxy trusts instead of the request itself.
///
/// Clients could use it to reach another route's resource or to impersonate another user, so the gateway removes it.
package struct TrustedHeader: Sendable, Hashable {
    /// The part of the request that the header overrides.
    package enum Meaning: String, Sendable, CaseIterable {
        case path, host, scheme, method, clientAddress, identity, internalRedirect
    }

    /// The name as backends that convert names into variables read it (``HeaderNames/normalised(_:)``). A `*` at the
    /// end matches every name with that prefix.
    package let pattern: String
    package let meaning: Meaning
    /// The software that reads it.
    package let readers: String

    /// The entry for a header name; nil if the gateway does not remove the header for its meaning.
    package static func named(_ name: String) -> TrustedHeader? {
        guard case .trusted(let row) = HeaderNames.kind(of: name.utf8.span) else { return nil }
        return all[Int(row)]
    }

    /// Whether the gateway needs the header for itself, so that no setting can let a client's through: framing,
    /// connections, fields that the gateway writes, and AWS request signing.
    package static func isGatewaysOwn(_ name: String) -> Bool {
        HeaderNames.kind(of: name.utf8.span) == .own || HeaderNames.isProtected(HeaderNames.normalised(name))
    }

    /// The entries, one for each name. If ``TrustedHeaderList`` repeats a name, its last entry counts.
    package static let all: [TrustedHeader] = TrustedHeaderList.groups.flatMap { group in
        group.names.split(separator: " ").map {
            TrustedHeader(pattern: String($0), meaning: group.meaning, readers: group.readers)
        }
    }
}

extension TrustedHeader.Meaning: CustomStringConvertible {
    package var description: String {
        switch self {
        case .path: "the path"
        case .host: "the host"
        case .scheme: "the scheme"
        case .method: "the method"
        case .clientAddress: "the client's address"
        case .identity: "the caller's identity"
        case .internalRedirect: "a proxy's or framework's own instruction"
        }
    }

    /// The abuse that is possible if the header passes and the backend reads it.
    package var consequence: String {
        switch self {
        case .path: "a client reaches paths that other routes protect"
        case .host: "a client chooses the virtual host, and the host of links and redirects"
        case .scheme: "a client makes plain HTTP pass for HTTPS"
        case .method: "a client reaches methods that the route does not take"
        case .clientAddress: "a client chooses the address that limits, logs and allow lists go by"
        case .identity: "a client is whoever it says it is"
        case .internalRedirect: "a client skips checks of the server's, or reads files and paths of its choice"
        }
    }
}
