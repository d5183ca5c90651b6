/// A request header that some server, framework, CDN or proxy believes in the place of the request itself.
///
/// Clients could use it to reach another route's resource, or to be somebody else, so that the gateway removes it.
package struct TrustedHeader: Sendable, Hashable {
    /// The part of the request whose place the header takes.
    package enum Meaning: String, Sendable, CaseIterable {
        case path, host, scheme, method, clientAddress, identity, internalRedirect
    }

    /// The name as backends that turn names into variables read it (``HeaderNames/normalised(_:)``); one that ends in
    /// `*` stands for every name that begins so.
    package let pattern: String
    package let meaning: Meaning
    /// The software that reads it.
    package let readers: String

    /// The entry that a header of this name comes under; nil for one that the gateway does not remove for its meaning.
    package static func named(_ name: String) -> TrustedHeader? {
        guard case .trusted(let row) = HeaderNames.kind(of: name.utf8.span) else { return nil }
        return all[Int(row)]
    }

    /// Whether the gateway needs the header's name for itself, so that no setting lets a client's through: framing,
    /// connections, what the gateway writes, and AWS request signing.
    package static func isGatewaysOwn(_ name: String) -> Bool {
        HeaderNames.kind(of: name.utf8.span) == .own || HeaderNames.isProtected(HeaderNames.normalised(name))
    }

    /// One for each name, so that a name's last entry in ``TrustedHeaderList`` counts.
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

    /// A client's possibilities where the header is let through and read.
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
