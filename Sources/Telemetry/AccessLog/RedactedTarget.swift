internal import Encoding

/// Redaction of a request's target for logs: the path, and the names of the query's parameters without their values.
/// `/a?b=1&c=2` becomes `/a?b=&c=`.
///
/// A parameter without `=` may be a value itself, such as a one-time code, and becomes `*`, as does an overlong name.
/// An overlong target ends with `…`.
enum RedactedTarget {
    /// A longer name is more likely a misplaced token.
    private static let maximumNameLength = 64
    private static let maximumLength = 2048

    /// Redacts the target from `start` to the end of `bytes`. The result of the query is never longer than the
    /// original, so it is written in place.
    static func redact(_ bytes: inout [UInt8], from start: Int) {
        if let query = bytes[start...].firstIndex(of: UInt8(ascii: "?")) {
            redactQuery(&bytes, from: query + 1)
        }
        if bytes.count - start > maximumLength {
            bytes.removeSubrange((start + maximumLength)...)
            bytes.append(contentsOf: "…".utf8)
        }
    }

    private static func redactQuery(_ bytes: inout [UInt8], from start: Int) {
        var written = start
        var parameter = start
        while parameter < bytes.count {
            let end = bytes[parameter...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            let equals = bytes[parameter..<end].firstIndex(of: UInt8(ascii: "="))
            if let equals, equals - parameter <= maximumNameLength {
                for index in parameter...equals {
                    bytes[written] = bytes[index]
                    written += 1
                }
            } else if end > parameter {
                bytes[written] = UInt8(ascii: "*")
                written += 1
            }
            if end < bytes.count {
                bytes[written] = UInt8(ascii: "&")
                written += 1
            }
            parameter = end + 1
        }
        bytes.removeSubrange(written...)
    }
}
