internal import Encoding

/// The URLs of a directory's resources (RFC 8555, 7.1.1).
struct ACMEDirectory: Equatable, Sendable {
    let newNonce: String
    let newAccount: String
    let newOrder: String
    /// Whether accounts need credentials from the directory's operator (RFC 8555, 7.3.4).
    let needsExternalAccount: Bool

    init(_ json: JSON, origin: ACMEOrigin) throws(ACMEError) {
        newNonce = try origin.url(json["newNonce"], "newNonce")
        newAccount = try origin.url(json["newAccount"], "newAccount")
        newOrder = try origin.url(json["newOrder"], "newOrder")
        needsExternalAccount = json["meta"]?["externalAccountRequired"]?.boolValue ?? false
    }
}

/// The only origin to which requests are sent. URLs on other servers, such as those of the gateway's own network, are
/// rejected.
struct ACMEOrigin: Equatable, Sendable {
    /// Scheme, host and port of the directory, with a trailing slash.
    private let prefix: String

    private static let longest = 2048

    init(ofDirectory url: String) {
        // The part after "https://".
        let authority = url.utf8.dropFirst(8).prefix { $0 != UInt8(ascii: "/") }
        prefix = "https://\(String(decoding: authority, as: UTF8.self))/"
    }

    func url(_ json: JSON?, _ name: String) throws(ACMEError) -> String {
        guard let text = json?.stringValue else { throw .malformed("\(name) is missing") }
        return try url(text, name)
    }

    func url(_ text: String, _ name: String) throws(ACMEError) -> String {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformed("\(name) is no URL")
        }
        guard text.begins(with: prefix) else { throw .foreignURL }
        return text
    }
}
