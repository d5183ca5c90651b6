internal import Pipeline
internal import Upstream

/// Why a call of Apple's token endpoint came to nothing. Holds nothing of what was sent.
package struct AppleClientError: Error, Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The code or refresh token counts no more, or never did.
        case invalidGrant = "apple-invalid-grant"
        /// Apple does not take the gateway for what it says to be: its key, team, or an app's id is not right.
        case misconfigured = "apple-client-refused"
        /// It finds something else wrong with the call.
        case refused = "apple-call-refused"
        case unavailable = "apple-unavailable"
    }

    package let kind: Kind
    /// A name for the log: Apple's own of the error (RFC 6749, 5.2), or why there was no answer.
    package let name: String

    init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
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
        switch error {
        case .cannotConnect: self.init(.unavailable, "cannot-connect")
        case .timedOut: self.init(.unavailable, "timed-out")
        case .responseTooLarge: self.init(.unavailable, "answer-too-large")
        case .forbiddenScheme: self.init(.unavailable, "forbidden-scheme")
        case .forbiddenAddress: self.init(.unavailable, "forbidden-address")
        case .failed: self.init(.unavailable, "transfer-failed")
        case .cancelled: self.init(.unavailable, "cancelled")
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }
}
