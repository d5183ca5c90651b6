internal import Encoding
package import HTTPClient
package import Pipeline

/// Why a call of Apple's token endpoint came to nothing. Holds nothing of what was sent.
package struct AppleClientError: Error, Equatable, Sendable {
    package let kind: AppleClientErrorKind
    /// A name for the log: Apple's own of the error (RFC 6749, 5.2), or why there was no answer.
    package let name: String
    /// Why there was no answer, where there was none.
    package let noAnswer: FetchError?

    init(_ kind: AppleClientErrorKind, _ name: String, noAnswer: FetchError? = nil) {
        self.kind = kind
        self.name = name
        self.noAnswer = noAnswer
    }

    /// An answer with another status than 200.
    init(_ response: FetchResponse) {
        let named = (try? JSON.parse(response.body))?["error"]?.stringValue
        // A limit that is reached says nothing about the grant, whatever the body says.
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
