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
        guard let url, let scheme = url.scheme?.lowercased(), let host = url.host?.lowercased(), !host.isEmpty,
            let usual = ["https": 443, "http": 80][scheme]
        else { return nil }
        (self.scheme, self.host, port) = (scheme, host, url.port ?? usual)
    }
}
