internal import HTTPTypes

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// `method SP request-target SP HTTP-version` (RFC 9112 §3).
struct RequestLine {
    let method: HTTPRequest.Method
    /// The path and query in origin-form, exactly as received; `*` for OPTIONS; the authority for CONNECT.
    let path: String
    /// The authority of an absolute-form or authority-form target; nil for other forms.
    let authority: String?
    /// The default port of the target's scheme (RFC 9110 §4.2); nil if the target has no scheme.
    let defaultPort: Int?
    let minorVersion: Int

    init(parsing line: UnsafeRawBufferPointer) throws(HTTP1Fault) {
        guard let methodEnd = unsafe line.firstIndex(of: Grammar.space),
            let targetEnd = unsafe line.lastIndex(of: Grammar.space), targetEnd > methodEnd + 1
        else { throw .malformedRequestLine }
        method = try unsafe Self.method(UnsafeRawBufferPointer(rebasing: line[..<methodEnd]))
        minorVersion = try unsafe Self.version(UnsafeRawBufferPointer(rebasing: line[(targetEnd + 1)...]))
        let target = unsafe UnsafeRawBufferPointer(rebasing: line[(methodEnd + 1)..<targetEnd])
        // RFC 3986 allows only visible ASCII. A space would make the rest look like a second target, and a fragment is
        // never sent (RFC 9110 §4.2.5).
        guard unsafe target.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            throw .malformedTarget
        }
        let text = unsafe String(decoding: target, as: UTF8.self)
        if method == .connect {
            guard Authority.isValid(text), text.utf8.contains(Grammar.colon) else { throw .malformedTarget }
            (authority, path, defaultPort) = (text, text, nil)
        } else if unsafe target[0] == UInt8(ascii: "/") {
            (authority, path, defaultPort) = (nil, text, nil)
        } else if method == .options, text == "*" {
            (authority, path, defaultPort) = (nil, text, nil)
        } else {
            (authority, path, defaultPort) = try Self.absoluteForm(text)
        }
    }

    private static func method(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Fault) -> HTTPRequest.Method {
        if unsafe equals(bytes, "GET") { return .get }
        if unsafe equals(bytes, "POST") { return .post }
        if unsafe equals(bytes, "PUT") { return .put }
        if unsafe equals(bytes, "DELETE") { return .delete }
        guard bytes.count <= 32, unsafe Grammar.isToken(bytes),
            let method = unsafe HTTPRequest.Method(rawValue: String(decoding: bytes, as: UTF8.self))
        else { throw .malformedRequestLine }
        return method
    }

    private static func equals(_ bytes: UnsafeRawBufferPointer, _ literal: StaticString) -> Bool {
        guard bytes.count == literal.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where unsafe bytes[index] != literal.utf8Start[index] { return false }
        return true
    }

    /// Returns the minor version of `HTTP/1.0` or `HTTP/1.1`; throws ``HTTP1Fault/unsupportedVersion`` for other
    /// well-formed versions.
    static func version(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Fault) -> Int {
        if unsafe equals(bytes, "HTTP/1.1") { return 1 }
        if unsafe equals(bytes, "HTTP/1.0") { return 0 }
        guard bytes.count == 8, unsafe equals(UnsafeRawBufferPointer(rebasing: bytes[..<5]), "HTTP/"),
            unsafe Grammar.isDigit(bytes[5]), unsafe bytes[6] == UInt8(ascii: "."),
            unsafe Grammar.isDigit(bytes[7])
        else { throw .malformedRequestLine }
        throw .unsupportedVersion
    }

    /// Parses the absolute-form (RFC 9112 §3.2.2) of http and https; user information is rejected (RFC 9110 §4.2.4).
    private static func absoluteForm(_ text: String) throws(HTTP1Fault) -> (String, String, Int) {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { throw .malformedTarget }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else { throw .malformedTarget }
        let rest = text[colon...].dropFirst(3)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let authority = String(rest[..<end])
        guard !authority.isEmpty, Authority.isValid(authority) else { throw .malformedTarget }
        let path = rest[end...]
        return (authority, path.hasPrefix("/") ? String(path) : "/" + path, scheme == "http" ? 80 : 443)
    }
}

/// `uri-host [":" port]` (RFC 9110 §7.2), without user information.
package enum Authority {
    package static func isValid(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { unsafe isValid(UnsafeRawBufferPointer($0)) }
    }

    private static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = unsafe bytes.first, bytes.count <= 255 + 6 else { return false }
        var hostEnd = 0
        if first == UInt8(ascii: "[") {
            guard let close = unsafe bytes.firstIndex(of: UInt8(ascii: "]")), close > 2 else { return false }
            guard unsafe isAddress(UnsafeRawBufferPointer(rebasing: bytes[1..<close])) else { return false }
            hostEnd = close + 1
        } else {
            while hostEnd < bytes.count, unsafe isNameByte(bytes[hostEnd]) { hostEnd += 1 }
            guard hostEnd > 0 else { return false }
        }
        return unsafe isPort(UnsafeRawBufferPointer(rebasing: bytes[hostEnd...]))
    }

    /// Letters, digits, `-`, `.`, `_` and `~`: the characters of real names, not everything that reg-name allows.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    /// Whether `bytes` are an IPv6 address; zones and IPvFuture are rejected.
    private static func isAddress(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count < Int(INET6_ADDRSTRLEN), unsafe !bytes.contains(0) else { return false }
        var address = in6_addr()
        return unsafe inet_pton(AF_INET6, String(decoding: bytes, as: UTF8.self), &address) == 1
    }

    private static func isPort(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = unsafe bytes.first else { return true }
        guard first == Grammar.colon, bytes.count <= 6 else { return false }
        var port = 0
        for index in 1..<bytes.count {
            let byte = unsafe bytes[index]
            guard Grammar.isDigit(byte) else { return false }
            port = port * 10 + Int(byte - 0x30)
        }
        return port <= 65535
    }

    /// Whether two valid authorities name the same host and port. `host`, `host:` and `host:80` are equivalent for http
    /// (RFC 3986 §6.2.3), and clients use different ones in different places.
    package static func isSame(_ one: String, _ other: String, defaultPort: Int? = nil) -> Bool {
        one == other || parts(one, defaultPort) == parts(other, defaultPort)
    }

    private static func parts(_ text: String, _ defaultPort: Int?) -> [String] {
        let lower = text.lowercased()
        // A colon inside brackets belongs to an address.
        guard let colon = lower.lastIndex(of: ":"), !lower[colon...].contains("]") else {
            return [lower, defaultPort.map(String.init) ?? ""]
        }
        let port = Int(lower[lower.index(after: colon)...]) ?? defaultPort
        return [String(lower[..<colon]), port.map(String.init) ?? ""]
    }
}
