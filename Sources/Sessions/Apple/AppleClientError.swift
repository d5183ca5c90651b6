internal import Encoding
package import HTTPClient
package import Pipeline

/// The reason why a call to Apple's token endpoints failed. Contains nothing of what was sent.
package struct AppleClientError: Error, Equatable, Sendable {
    package let kind: AppleClientErrorKind
    /// A name for the log: Apple's error code (RFC 6749, 5.2), or the reason why there was no response.
    package let name: String
    /// The reason why there was no response; nil if there was one.
    package let noAnswer: FetchError?

    init(_ kind: AppleClientErrorKind, _ name: String, noAnswer: FetchError? = nil) {
        self.kind = kind
        self.name = name
        self.noAnswer = noAnswer
    }

    /// Converts a response with a status other than 200.
    init(_ response: FetchResponse) {
        let named = (try? JSON.parse(response.body))?["error"]?.stringValue
        // A rate limit says nothing about the grant, whatever the body contains.
        guard (400..<500).contains(response.status), response.status != 429, let named, Self.isName(named) else {
            self.init(.unavailable, "status-\(response.status)")
            return
        }
        switch named {
        case "invalid_grant": self.init(.invalidGrant, named)
        case "invalid_client", "unauthorized_client", "unsupported_grant_type": self.init(.misconfigured, named)
        default: self.init(.refused, named)
        }
    }

    init(noAnswer error: FetchError) {
        let name =
            switch error {
            case .cannotConnect: "cannot-connect"
            case .timedOut: "timed-out"
            case .responseTooLarge: "answer-too-large"
            case .forbiddenScheme: "forbidden-scheme"
            case .forbiddenAddress: "forbidden-address"
            case .failed: "transfer-failed"
            case .cancelled: "cancelled"
            }
        self.init(.unavailable, name, noAnswer: error)
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }
}
