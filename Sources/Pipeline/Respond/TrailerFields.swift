internal import HTTPTypes

/// The trailer section of a backend's response as the client gets it.
///
/// A recipient may merge trailers into the head, so nothing passes that would mean something there: for framing,
/// routing, authentication, caching or reading the content (RFC 9110 §6.5.1), for a browser's safety, or in the
/// gateway's own namespace. Digests, checksums and a remote procedure's outcome do pass.
enum TrailerFields {
    /// - Parameters:
    ///   - inbound: what is the gateway's own of the route.
    ///   - rules: what the route removes or sets in the head is not in trailers either.
    /// - Returns: nil where nothing is left.
    static func forClient(_ fields: HTTPFields, inbound: InboundFields, rules: HeaderRules?) -> HTTPFields? {
        var passed = HTTPFields()
        for field in fields {
            let name = field.name.canonicalName
            guard inbound.passes(field, connectionOptions: []), !isOfTheHead(name),
                rules?.removed.contains(name) != true
            else { continue }
            passed.append(field)
        }
        return passed.isEmpty ? nil : passed
    }

    private static func isOfTheHead(_ name: String) -> Bool {
        ofTheHead.contains(name) || prefixesOfTheHead.contains { name.hasPrefix($0) }
    }

    private static let prefixesOfTheHead = ["access-control-", "cross-origin-", "if-", "proxy-", "sec-"]

    private static let ofTheHead: Set<String> = [
        // Framing and routing.
        "content-length", "trailer", "transfer-encoding", "host", "max-forwards", "via", "forwarded",
        // Authentication and state.
        "authorization", "cookie", "set-cookie", "www-authenticate",
        // Control of a request or of a response.
        "age", "allow", "cache-control", "clear-site-data", "date", "expect", "expires", "location", "pragma", "range",
        "refresh", "retry-after", "te", "vary", "warning",
        // How content is read.
        "accept-ranges", "content-disposition", "content-encoding", "content-language", "content-location",
        "content-range", "content-security-policy", "content-security-policy-report-only", "content-type",
        "last-modified",
        // Fields that browsers act on.
        "alt-svc", "link", "permissions-policy", "referrer-policy", "server", "strict-transport-security",
        "x-content-type-options", "x-frame-options", "x-request-id", "x-xss-protection",
    ]
}
