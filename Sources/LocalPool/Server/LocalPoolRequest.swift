/// A whole request to the local pool.
struct LocalPoolRequest: Sendable {
    var method: String
    /// The request target: path and query as sent.
    var target: String
    /// In the order received.
    var headers: [LocalPoolHeader] = []
    var body: [UInt8]
    /// Whether the client is on this machine.
    var isFromLoopback = true

    /// The target's path.
    var path: Substring { target.prefix { $0 != "?" } }

    /// The target's query without the question mark; empty if there is none.
    var query: Substring { target.drop { $0 != "?" }.dropFirst() }

    /// `X-Amz-Target`, if there is one.
    var operationTarget: String? { header("x-amz-target") }

    /// The first value of the header called `name`, which is in lower case.
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

    /// The value of the query parameter `name`, percent-decoded (WHATWG URL, 5.1: `+` is a space). Nil if it isn't there
    /// or isn't UTF-8.
    func query(_ name: String) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        for pair in target[target.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return Self.decoded(parts[1]) }
        }
        return nil
    }

    private static func decoded(_ text: Substring) -> String? {
        var rest = Array(text.utf8)[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
                rest.removeFirst(2)
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A header line of a request or an answer.
struct LocalPoolHeader: Sendable, Equatable {
    var name: String
    var value: String
}
