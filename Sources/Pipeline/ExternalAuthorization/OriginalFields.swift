internal import Encoding
internal import HTTPTypes

/// The original request's line and host from fields of the authorization request. Each field must be present exactly
/// once.
struct OriginalFields {
    let method: HTTPRequest.Method
    /// Nil if `X-Forwarded-Proto` carries it.
    var scheme: String?
    let authority: String
    /// Path and query, beginning with a slash.
    let path: String
    /// The fields that were read.
    let names: [HTTPField.Name]

    /// `X-Original-Method` and `X-Original-URL`, which has scheme, host and target: the names of ingress-nginx.
    static func url(of fields: HTTPFields) -> OriginalFields? {
        guard let method = method(in: fields, .xOriginalMethod), let url = single(.xOriginalURL, in: fields),
            let scheme = ["https", "http"].first(where: { url.utf8.starts(with: "\($0)://".utf8) })
        else { return nil }
        let rest = url.utf8.dropFirst(scheme.utf8.count + 3)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return OriginalFields(
            method: method, scheme: scheme, authority: String(Substring(rest[..<slash])),
            path: String(Substring(rest[slash...])), names: [.xOriginalMethod, .xOriginalURL])
    }

    /// `X-Forwarded-Method`, `-Host` and `-Uri`.
    static func forwarded(of fields: HTTPFields) -> OriginalFields? {
        guard let method = method(in: fields, .xForwardedMethod), let host = single(.xForwardedHost, in: fields),
            let path = single(.xForwardedURI, in: fields), path.utf8.first == UInt8(ascii: "/")
        else { return nil }
        return OriginalFields(
            method: method, authority: host, path: path,
            names: [.xForwardedMethod, .xForwardedHost, .xForwardedURI])
    }

    /// The method: a token, as in a request line (RFC 9112 §3.1). CONNECT is not allowed.
    private static func method(in fields: HTTPFields, _ name: HTTPField.Name) -> HTTPRequest.Method? {
        guard let text = single(name, in: fields), text.utf8.count <= 32, let method = HTTPRequest.Method(text),
            method != .connect
        else { return nil }
        return method
    }

    /// The only value of a field; nil unless it is visible ASCII without a fragment, like a request target (RFC 9112
    /// §3.2).
    private static func single(_ name: HTTPField.Name, in fields: HTTPFields) -> String? {
        let values = fields[values: name]
        guard values.count == 1, let value = values.first, !value.isEmpty else { return nil }
        return value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") } ? value : nil
    }
}

extension HTTPField.Name {
    fileprivate static let xOriginalMethod = known("X-Original-Method")
    fileprivate static let xOriginalURL = known("X-Original-URL")
    fileprivate static let xForwardedMethod = known("X-Forwarded-Method")
    fileprivate static let xForwardedHost = known("X-Forwarded-Host")
    fileprivate static let xForwardedURI = known("X-Forwarded-Uri")
}
