internal import Encoding

/// One of the gateway's own requests (to Cognito, to a key-set URL), as opposed to a proxied client request.
package struct FetchRequest: Sendable {
    package var method: String
    package var url: String
    /// Header lines as name and value; the transport sets `Content-Length` and `Host`.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?
    /// The time limit of the whole exchange.
    package var deadline: Duration
    /// The maximum size of the response body in bytes; a larger one is ``FetchError/responseTooLarge``.
    package var maximumResponseBytes: Int
    /// Whether a response with a larger body fails; otherwise the body is truncated.
    package var needsWholeBody: Bool
    /// Whether the URL's path may be a credential.
    package var hasSecretPath: Bool
    /// Whether the request needs a new connection, which also resolves the host name again.
    package var connectsAfresh: Bool

    package init(
        method: String = "GET",
        url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        deadline: Duration = .seconds(10),
        maximumResponseBytes: Int = 1 << 20,
        needsWholeBody: Bool = true,
        hasSecretPath: Bool = false,
        connectsAfresh: Bool = false
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.deadline = deadline
        self.maximumResponseBytes = maximumResponseBytes
        self.needsWholeBody = needsWholeBody
        self.hasSecretPath = hasSecretPath
        self.connectsAfresh = connectsAfresh
    }
}

/// The complete response to a ``FetchRequest``. Redirects are never followed: a 3xx is returned unchanged.
package struct FetchResponse: Sendable {
    package var status: Int
    /// Header lines in the order received; names lower-cased.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first value of the header with this lower-case name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.hasSameBytes(as: name) }?.value
    }
}

/// The reason why a fetch returned no response. The text is libcurl's own, free of request data.
package enum FetchError: Error, Equatable, Sendable, CustomStringConvertible {
    case cannotConnect(String)
    case timedOut
    case responseTooLarge
    /// The URL's scheme is not allowed for this fetcher.
    case forbiddenScheme
    /// All addresses of the URL's host are forbidden for this fetcher.
    case forbiddenAddress
    case failed(String)
    case cancelled

    /// A description for operators.
    package var description: String {
        switch self {
        case .cannotConnect(let text), .failed(let text): text
        case .timedOut: "it took too long"
        case .responseTooLarge: "the response is too large"
        case .forbiddenScheme: "the URL is not https"
        case .forbiddenAddress: "the host's address is private"
        case .cancelled: "cancelled"
        }
    }
}

/// Sends the gateway's own requests. In production this is libcurl; tests use recorded responses.
package protocol Fetcher: Sendable {
    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse
}
