internal import Encoding

/// Interpretations of an accepted path by less strict software.
extension RequestPath {
    /// The normal form under every combination of these readings, each of which some software has:
    ///
    /// - `;parameters` removed from segments, before decoding (as in Tomcat) or after it;
    /// - the decoded path cut at `?` or `#`;
    /// - controls dropped (WHATWG URL drops tabs and line breaks), or the path ended by one (a `$` in many regular
    ///   expressions matches before a last line feed, so that `/admin%0A` is `/admin` to the backend);
    /// - a last segment `.` or `..` resolved (RFC 3986 §5.2.4).
    ///
    /// A route matches only if all of them lead to it. Such a target can then be forwarded unchanged: whichever way the
    /// backend reads it, the same policy was applied.
    func otherReadings() -> [[UInt8]] {
        var readings = [withBytes { bytes in bytes.indices.map { bytes[$0] } }, withoutRawParameters]
        for step in Self.steps {
            for other in readings.map(step) where !readings.contains(other) { readings.append(other) }
        }
        return readings.map(Self.normal)
    }

    /// Parameters are removed before decoding, so that `%3B` begins none.
    private var withoutRawParameters: [UInt8] {
        let raw = String(decoding: Self.withoutParameters(Array(received.utf8)), as: UTF8.self)
        guard let decoded = PercentEncoding.decode(raw) else { return Array(raw.utf8) }
        return Array(decoded.utf8)
    }

    /// The steps in their order; each may be skipped.
    private static let steps: [@Sendable ([UInt8]) -> [UInt8]] = [
        withoutParameters,
        { $0.filter { !PathBytes.isControl($0) } },
        { Array($0.prefix { !PathBytes.isControl($0) }) },
        { Array($0.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }) },
        withoutParameters,
        withFinalDotsResolved,
    ]

    @Sendable
    private static func withoutParameters(_ path: [UInt8]) -> [UInt8] {
        var inParameter = false
        return path.filter { byte in
            if byte == UInt8(ascii: ";") { inParameter = true }
            if byte == UInt8(ascii: "/") { inParameter = false }
            return !inParameter
        }
    }

    @Sendable
    private static func withFinalDotsResolved(_ path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        guard let last = path.lastIndex(of: slash) else { return path }
        switch path[(last + 1)...] {
        case [UInt8(ascii: ".")]: return Array(path[...last])
        case [UInt8(ascii: "."), UInt8(ascii: ".")]:
            return Array(path[...(path[..<last].lastIndex(of: slash) ?? last)])
        default: return path
        }
    }

    private static func normal(_ path: [UInt8]) -> [UInt8] {
        path.count > 1 && path.last == UInt8(ascii: "/") ? path.dropLast() : path
    }
}
