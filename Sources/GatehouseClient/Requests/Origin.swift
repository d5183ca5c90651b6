import Foundation

/// A URL's origin (RFC 6454, section 4): tokens go to one only.
struct Origin: Equatable {
    private let scheme: String
    private let host: String
    private let port: Int
    /// With the port in any case, such as `https-api.example.com-443`.
    var text: String { "\(scheme)-\(host)-\(port)" }

    /// - Returns: nil if the URL has no host, or another scheme than http or https.
    init?(_ url: URL?) {
        guard let url, let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(), !host.isEmpty else {
            return nil
        }
        switch scheme {
        case "https": port = url.port ?? 443
        case "http": port = url.port ?? 80
        default: return nil
        }
        (self.scheme, self.host) = (scheme, host)
    }
}
