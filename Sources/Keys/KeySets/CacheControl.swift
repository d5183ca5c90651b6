internal import Encoding

/// The part of `Cache-Control` that determines when a key set is refreshed.
enum CacheControl {
    /// `max-age` in seconds (RFC 9111 §5.2.2.1); 0 for `no-store` and `no-cache`; nil if none of them is given.
    static func maximumAge(_ value: String?) -> Int64? {
        // Directives are ASCII.
        guard let value, value.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        var age: Int64?
        for directive in value.asciiLowercased.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = directive.split(separator: UInt8(ascii: "="), maxSplits: 1).map { part in
                String(decoding: part.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\"") }, as: UTF8.self)
            }
            switch parts.first.exact {
            case "no-store", "no-cache": return 0
            case "max-age": age = parts.count == 2 ? Int64(parts[1]) : nil
            default: continue
            }
        }
        return age
    }
}
