internal import Encoding
internal import HTTPClient

/// An error document of the directory (RFC 8555, 6.7; RFC 7807).
package struct ACMEProblem: Equatable, Sendable, CustomStringConvertible {
    /// Such as `rateLimited`, without the ACME error namespace.
    package let type: String
    /// Printable ASCII of bounded length.
    package let detail: String
    package let status: Int

    static let namespace = "urn:ietf:params:acme:error:"
    private static let longest = 300

    init(_ json: JSON?, status: Int) {
        let type = json?["type"]?.stringValue ?? ""
        let name =
            type.begins(with: Self.namespace)
            ? String(decoding: type.utf8.dropFirst(Self.namespace.utf8.count), as: UTF8.self) : type
        self.type = Self.shown(name, 64)
        detail = Self.shown(json?["detail"]?.stringValue ?? "", Self.longest)
        self.status = status
    }

    func isOf(_ type: String) -> Bool { self.type.hasSameBytes(as: type) }

    package var description: String {
        let name = type.isEmpty ? "status \(status)" : type
        return detail.isEmpty ? name : "\(name): \(detail)"
    }

    /// Makes the directory's text safe for logs and status pages.
    private static func shown(_ text: String, _ longest: Int) -> String {
        let bytes = text.utf8.prefix(longest).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The reason why no certificate was obtained.
package enum ACMEError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The directory did not respond, or responded that it cannot work now.
    case unreachable(String, retryAfter: Int64? = nil)
    /// The directory has received too many requests.
    case rateLimited(ACMEProblem, retryAfter: Int64?)
    /// The directory refused a request.
    case refused(ACMEProblem)
    /// The directory could not validate that the gateway serves the name.
    case notValidated(ACMEProblem)
    /// The directory was asked to issue the certificate, but then did not respond, or responded that it cannot work
    /// now. It may have issued the certificate.
    case notDelivered(String, retryAfter: Int64? = nil)
    /// A response does not conform to RFC 8555. `isOfAll`: the name cannot be the cause.
    case malformed(String, isOfAll: Bool = false)
    /// A URL from the directory is on another server.
    case foreignURL
    /// The directory did not finish in time.
    case tookTooLong(String)
    /// The key or the certificate request could not be created.
    case cryptography(String)
    /// Another gateway has taken the lease.
    case leaseLost

    package var description: String {
        switch self {
        case .unreachable(let reason, _): "the directory cannot be used: \(reason)"
        case .rateLimited(let problem, _): "the directory limits requests: \(problem)"
        case .refused(let problem): "the directory refused: \(problem)"
        case .notValidated(let problem): "the directory did not validate the name: \(problem)"
        case .notDelivered(let reason, _): "the directory did not deliver the certificate: \(reason)"
        case .malformed(let what, _): "the directory's response cannot be used: \(what)"
        case .foreignURL: "the directory named a URL on another server"
        case .tookTooLong(let what): "the directory took too long: \(what)"
        case .cryptography(let step): "OpenSSL failed: \(step)"
        case .leaseLost: "another gateway has taken over"
        }
    }

    /// Whether a finalized order has failed for good. If not, it may still produce its certificate.
    var endsOrder: Bool {
        switch self {
        case .refused, .notValidated, .malformed, .foreignURL: true
        case .unreachable, .rateLimited, .notDelivered, .tookTooLong, .cryptography, .leaseLost: false
        }
    }
}
