/// The client's protocols: the versions of HTTP and TLS, and whether it presented a certificate.
package struct ClientProtocol: Sendable, Equatable {
    package enum HTTPVersion: Sendable, Equatable {
        case http10, http11, http2

        package var text: StaticString {
            switch self {
            case .http10: "1.0"
            case .http11: "1.1"
            case .http2: "2"
            }
        }
    }

    package enum TLSVersion: Sendable, Equatable {
        case tls12, tls13

        package var text: StaticString {
            switch self {
            case .tls12: "1.2"
            case .tls13: "1.3"
            }
        }
    }

    package var http: HTTPVersion
    /// Nil without TLS.
    package var tls: TLSVersion?
    /// Whether the client presented a certificate, which browsers do automatically.
    package var hasCertificate: Bool

    package init(http: HTTPVersion = .http11, tls: TLSVersion? = nil, hasCertificate: Bool = false) {
        self.http = http
        self.tls = tls
        self.hasCertificate = hasCertificate
    }
}
