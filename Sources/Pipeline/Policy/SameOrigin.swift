internal import Encoding
internal import HTTPTypes

/// Protection against CSRF: whether a request that a browser adds cookies to comes from a page that may send it, and
/// not from another page in the user's name.
struct SameOrigin {
    private let request: HTTPRequest
    private let scheme: String
    private let crossOrigin: CrossOrigin?
    private static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")

    /// - Parameters:
    ///   - scheme: the scheme of the request.
    ///   - crossOrigin: the other pages that may call the route with the browser's cookies.
    init(_ request: HTTPRequest, scheme: String, _ crossOrigin: CrossOrigin?) {
        self.request = request
        self.scheme = scheme
        self.crossOrigin = crossOrigin
    }

    /// Whether a cookie may authenticate this request. Safe methods may use one: any page can make a browser send them,
    /// but cannot read the responses. Other methods must come from a page of the same origin, or of one that the
    /// route's CORS settings name for requests with credentials. So must WebSockets: their opening looks like a GET,
    /// but any page could read their data.
    var mayUseCookie: Bool {
        isSafe || isSameOrigin || isAllowedOrigin
    }

    /// RFC 9110 §9.2.1.
    private var isSafe: Bool {
        guard request.extendedConnectProtocol == nil else { return false }
        return request.method == .get || request.method == .head || request.method == .options
    }

    /// From the browser's Fetch Metadata (2.3), or from `Origin` if the browser sends none.
    private var isSameOrigin: Bool {
        let sites = Self.secFetchSite.map { request.headerFields[values: $0] } ?? []
        guard sites.isEmpty else { return sites.count == 1 && sites[0].hasSameBytes(as: "same-origin") }
        guard let origin, let authority = request.authority else { return false }
        return origin.hasSameBytes(as: Self.origin(scheme, authority))
    }

    private var isAllowedOrigin: Bool {
        guard let origin, let crossOrigin else { return false }
        return crossOrigin.credentials && crossOrigin.allows(origin)
    }

    private var origin: String? {
        let origins = request.headerFields[values: .origin]
        return origins.count == 1 ? origins[0] : nil
    }

    /// The origin as browsers serialise it: without the scheme's default port (RFC 6454 §6.2).
    private static func origin(_ scheme: String, _ authority: String) -> String {
        let usualPort = scheme == "https" ? ":443" : ":80"
        let authority = authority.lowercased()
        return "\(scheme)://" + (authority.hasSuffix(usualPort) ? authority.dropLast(usualPort.count) : authority[...])
    }
}
