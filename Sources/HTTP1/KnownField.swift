internal import HTTPTypes

/// The field names that most messages carry. Recognizing them saves the validation, the conversion to lower case and
/// two allocations that each unknown name costs, and makes framing decisions a comparison of small integers.
enum KnownField: Int, CaseIterable {
    case host, contentLength, transferEncoding, connection, expect, upgrade, te, trailer
    case authorization, userAgent, accept, acceptEncoding, acceptLanguage, contentType, cookie, date, server
    case cacheControl, etag, lastModified, location, setCookie, vary, ifNoneMatch, ifModifiedSince, range
    case contentEncoding, contentRange, acceptRanges, keepAlive, proxyConnection, proxyAuthenticate, origin, referer
    case xForwardedFor, xForwardedProto, xRequestID, traceparent
    case accessControlAllowOrigin, strictTransportSecurity, xContentTypeOptions, wwwAuthenticate, retryAfter

    var text: StaticString {
        switch self {
        case .host: "host"
        case .contentLength: "content-length"
        case .transferEncoding: "transfer-encoding"
        case .connection: "connection"
        case .expect: "expect"
        case .upgrade: "upgrade"
        case .te: "te"
        case .trailer: "trailer"
        case .authorization: "authorization"
        case .userAgent: "user-agent"
        case .accept: "accept"
        case .acceptEncoding: "accept-encoding"
        case .acceptLanguage: "accept-language"
        case .contentType: "content-type"
        case .cookie: "cookie"
        case .date: "date"
        case .server: "server"
        case .cacheControl: "cache-control"
        case .etag: "etag"
        case .lastModified: "last-modified"
        case .location: "location"
        case .setCookie: "set-cookie"
        case .vary: "vary"
        case .ifNoneMatch: "if-none-match"
        case .ifModifiedSince: "if-modified-since"
        case .range: "range"
        case .contentEncoding: "content-encoding"
        case .contentRange: "content-range"
        case .acceptRanges: "accept-ranges"
        case .keepAlive: "keep-alive"
        case .proxyConnection: "proxy-connection"
        case .proxyAuthenticate: "proxy-authenticate"
        case .origin: "origin"
        case .referer: "referer"
        case .xForwardedFor: "x-forwarded-for"
        case .xForwardedProto: "x-forwarded-proto"
        case .xRequestID: "x-request-id"
        case .traceparent: "traceparent"
        case .accessControlAllowOrigin: "access-control-allow-origin"
        case .strictTransportSecurity: "strict-transport-security"
        case .xContentTypeOptions: "x-content-type-options"
        case .wwwAuthenticate: "www-authenticate"
        case .retryAfter: "retry-after"
        }
    }

    /// Whether a response's line with this name is excluded from ``EndToEndLines``.
    var isNotCopied: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .upgrade, .te, .trailer,
            .proxyConnection, .proxyAuthenticate, .xRequestID:
            true
        default: false
        }
    }

    var name: HTTPField.Name { Self.names[rawValue] }

    private static let names: [HTTPField.Name] = allCases.map { known in
        let lower = known.text.description
        // RFC 9110 §5.1: names are case-insensitive; they are sent in the customary capitals.
        let customary = lower.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        guard let name = HTTPField.Name(customary.joined(separator: "-")) else {
            preconditionFailure("\(lower) is a token")
        }
        return name
    }

    /// Buckets by length and last letter; no bucket holds more than a few names.
    private static let buckets: [[KnownField]] = {
        var buckets = [[KnownField]](repeating: [], count: 64)
        for known in allCases {
            let text = known.text
            let last = unsafe text.utf8Start[text.utf8CodeUnitCount - 1]
            buckets[bucket(length: text.utf8CodeUnitCount, last: last)].append(known)
        }
        return buckets
    }()

    private static func bucket(length: Int, last: UInt8) -> Int {
        (length &* 7 &+ Int(last | 0x20)) & 63
    }

    /// Returns the known field with the name `bytes`, ignoring case; nil if there is none.
    static func lookUp(_ bytes: UnsafeRawBufferPointer) -> KnownField? {
        guard let last = unsafe bytes.last else { return nil }
        for candidate in buckets[bucket(length: bytes.count, last: last)]
        where unsafe Grammar.equals(bytes, ignoringCase: candidate.text) {
            return candidate
        }
        return nil
    }
}
