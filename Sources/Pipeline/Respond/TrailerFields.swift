internal import HTTPTypes

/// The trailer section of a backend's response as the client gets it.
///
/// A recipient may merge trailers into the head, so fields with a meaning there are removed: for framing, routing,
/// authentication, caching or reading the content (RFC 9110 §6.5.1), for a browser's safety, or in the gateway's own
/// namespace. Digests, checksums and the status of a remote procedure call pass.
enum TrailerFields {
    /// - Parameters:
    ///   - inbound: the route's filter, for the gateway's own names.
    ///   - rules: the route's rules for the head; fields that they remove or set are removed from trailers too.
    /// - Returns: nil if no field remains.
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
