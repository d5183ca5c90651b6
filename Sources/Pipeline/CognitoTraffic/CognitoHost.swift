internal import Encoding

/// Recognises an authority (`host`, `host:port`) that belongs to Amazon Cognito.
///
/// Case, a port and trailing dots make no difference, nor does userinfo before an `@`.
struct CognitoHost: Sendable {
    /// A configured host, in lower case, and its port; nil matches any port.
    private struct Endpoint {
        var host: String
        var port: String?
    }

    /// The domain suffixes of AWS services in every partition.
    private static let serviceSuffixes = AWSPartition.all.flatMap { [".\($0.suffix)", ".\($0.dualStackSuffix)"] }

    /// The domain suffixes of the pools' sign-in pages: `*.auth.<region>.amazoncognito.com`,
    /// `*.auth-fips.<region>.amazoncognito.com`.
    private static let pageSuffixes = [".amazoncognito.com", ".amazoncognito.eu", ".amazoncognito.com.cn"]

    /// The host labels of Cognito's API in service names.
    private static let serviceLabels = ["cognito-idp", "cognito-idp-fips"]

    private let configured: [Endpoint]

    /// - Parameters:
    ///   - hostedDomains: pools' custom domains; any port.
    ///   - endpoints: further addresses of Cognito's API: a host (any port), `host:port`, or a URL (its port or the
    ///     scheme's).
    init(hostedDomains: [String], endpoints: [String]) {
        configured =
            hostedDomains.map { Self.endpoint($0, keepsPort: false) }
            + endpoints.map { Self.endpoint($0, keepsPort: true) }
    }

    /// Whether a request with this authority is meant for Cognito.
    func matches(_ authority: String) -> Bool {
        let bytes = authority.utf8.span
        let (start, end) = Self.host(in: bytes)
        guard end > start else { return false }
        if !configured.isEmpty, isConfigured(bytes, start, end) { return true }
        return Self.isCognito(bytes, start, end)
    }

    private static func isCognito(_ bytes: borrowing Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        for suffix in pageSuffixes where hasSuffix(bytes, start, end, suffix) {
            return hasLabel(bytes, start, end, "auth") || hasLabel(bytes, start, end, "auth-fips")
        }
        for suffix in serviceSuffixes where hasSuffix(bytes, start, end, suffix) {
            if serviceLabels.contains(where: { hasLabel(bytes, start, end, $0) }) { return true }
        }
        return false
    }

    private func isConfigured(_ bytes: borrowing Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        for endpoint in configured where endpoint.host.utf8.count == end - start {
            guard bytes.matchesIgnoringCase(endpoint.host.utf8.span, at: start) else { continue }
            guard let wanted = endpoint.port else { return true }
            if Self.port(in: bytes, after: end, equals: wanted) { return true }
        }
        return false
    }

    /// The bounds of the host, without userinfo, port and trailing dots.
    private static func host(in bytes: borrowing Span<UInt8>) -> (start: Int, end: Int) {
        var start = 0
        var end = bytes.count
        var index = 0
        var inBrackets = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "@"): (start, end, inBrackets) = (index + 1, bytes.count, false)
            case UInt8(ascii: "["): inBrackets = true
            case UInt8(ascii: "]"): inBrackets = false
            case UInt8(ascii: ":") where !inBrackets && end == bytes.count: end = index
            default: break
            }
            index += 1
        }
        while end > start, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        return (start, end)
    }

    /// Whether the authority's port is `wanted`. An authority without a port matches the default ports of both schemes.
    private static func port(in bytes: borrowing Span<UInt8>, after host: Int, equals wanted: String) -> Bool {
        var start = host
        while start < bytes.count, bytes[start] == UInt8(ascii: ".") { start += 1 }
        guard start + 1 < bytes.count else { return wanted == "443" || wanted == "80" }
        return bytes.count - start - 1 == wanted.utf8.count && bytes.matches(wanted.utf8.span, at: start + 1)
    }

    private static func hasSuffix(
        _ bytes: borrowing Span<UInt8>, _ start: Int, _ end: Int, _ suffix: String
    ) -> Bool {
        let position = end - suffix.utf8.count
        return position > start && bytes.matchesIgnoringCase(suffix.utf8.span, at: position)
    }

    /// Whether one of the host's dot-separated labels is `label`.
    private static func hasLabel(_ bytes: borrowing Span<UInt8>, _ start: Int, _ end: Int, _ label: String) -> Bool {
        var labelStart = start
        for index in start...end where index == end || bytes[index] == UInt8(ascii: ".") {
            if index - labelStart == label.utf8.count, bytes.matchesIgnoringCase(label.utf8.span, at: labelStart) {
                return true
            }
            labelStart = index + 1
        }
        return false
    }

    private static func endpoint(_ text: String, keepsPort: Bool) -> Endpoint {
        var rest = Substring(text.lowercased())
        var port: String?
        for (scheme, standard) in [("https://", "443"), ("http://", "80")] where rest.hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.utf8.count)
            port = standard
        }
        rest = rest.prefix { $0 != "/" }
        let bytes = rest.utf8.span
        let (start, end) = host(in: bytes)
        let host = rest.utf8.prefix(end).dropFirst(start)
        if let colon = rest.utf8.dropFirst(end).firstIndex(of: UInt8(ascii: ":")) {
            port = String(rest[rest.utf8.index(after: colon)...])
        }
        return Endpoint(host: String(Substring(host)), port: keepsPort ? port : nil)
    }
}
