internal import Encoding

/// One request of the gateway's own (to Cognito, to a key-set URL), as opposed to a carried client request.
package struct FetchRequest: Sendable {
    package var method: String
    package var url: String
    /// Header lines as name and value; `Content-Length` and `Host` are the transport's.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?
    /// The most time the whole exchange may take.
    package var deadline: Duration
    /// The most response body bytes accepted; more is ``FetchError/responseTooLarge``.
    package var maximumResponseBytes: Int
    /// Whether a response whose body is longer fails; else the body is cut.
    package var needsWholeBody: Bool
    /// Whether to know the URL's path may be all that it takes to be taken for the gateway there.
    package var hasSecretPath: Bool
    /// Whether it takes a connection of its own, which also resolves the host's name anew.
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

/// The whole answer to a ``FetchRequest``. Redirects are never followed: a 3xx is returned as it is.
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

/// Why a fetch gave no answer. The text is libcurl's own, free of request data.
package enum FetchError: Error, Equatable, Sendable, CustomStringConvertible {
    case cannotConnect(String)
    case timedOut
    case responseTooLarge
    /// The URL's scheme is not one this fetcher was configured for.
    case forbiddenScheme
    /// All addresses of the URL's host are such as this fetcher was told to leave alone.
    case forbiddenAddress
    case failed(String)
    case cancelled

    /// For people.
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

/// Sends the gateway's own requests. The product's one is libcurl's; tests pass a recorded one.
package protocol Fetcher: Sendable {
    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse
}
