/// What the gateway knows of request header names. All names are in lower case.
enum HeaderNames {
    /// How backends that turn names into variables read a name (CGI, WSGI, PHP): every byte but letters and digits
    /// is the same to them. Here it becomes `-`.
    static func normalised(_ name: String) -> String {
        String(
            decoding: name.utf8.map { byte in
                let byte = asciiLowercased(byte)
                return isPlain(byte) ? byte : UInt8(ascii: "-")
            }, as: UTF8.self)
    }

    /// Whether the byte stays itself when a lower-case name is normalised.
    @inline(__always)
    static func isPlain(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
    }

    /// Whether a field never passes for its name alone. `name` is normalised.
    ///
    /// - Hop-by-hop fields, RFC 9110 §7.6.1; `Expect` is answered by the gateway (§10.1.1), `Host` written by it.
    /// - Whatever claims to know where the request came from or what it really asks for.
    /// - What the gateway sets anew: request id and trace context.
    /// - AWS request signing (`X-Amzn-…` is not `X-Amz-…`).
    static func isRemoved(_ name: String) -> Bool {
        switch name.utf8.first {
        case UInt8(ascii: "x"): return isRemovedExtension(name)
        case UInt8(ascii: "t"):
            switch name {
            case "te", "trailer", "transfer-encoding", "traceparent", "true-client-ip": return true
            default: return false
            }
        case UInt8(ascii: "c"):
            switch name {
            case "connection", "cf-connecting-ip", "client-ip": return true
            default: return false
            }
        case UInt8(ascii: "p"):
            switch name {
            case "proxy-connection", "proxy-authenticate", "proxy-authorization": return true
            default: return false
            }
        case UInt8(ascii: "e"): return name == "expect"
        case UInt8(ascii: "f"): return name == "forwarded"
        case UInt8(ascii: "h"): return name == "host"
        case UInt8(ascii: "k"): return name == "keep-alive"
        case UInt8(ascii: "u"): return name == "upgrade"
        default: return false
        }
    }

    private static func isRemovedExtension(_ name: String) -> Bool {
        let bytes = name.utf8.span
        if bytes.matches("x-forwarded".utf8.span) || bytes.matches("x-amz-".utf8.span)
            || bytes.matches("x-original-".utf8.span)
        {
            return true
        }
        // By length first: most extension names need no comparison at all.
        switch bytes.count {
        case 9: return name == "x-real-ip"
        case 11: return name == "x-client-ip"
        case 12: return name == "x-request-id"
        case 13: return name == "x-rewrite-url" || name == "x-http-method"
        case 17: return name == "x-method-override"
        case 19: return name == "x-cluster-client-ip"
        case 22: return name == "x-http-method-override"
        default: return false
        }
    }

    /// Fields with a meaning for framing, credentials or caching: a name that only becomes one of them by
    /// normalising is a look-alike, and no `Connection` option can take them away (RFC 9110 §7.6.1 forbids to list
    /// fields that are meant for all recipients).
    static func isProtected(_ name: String) -> Bool {
        switch name {
        case "authorization", "cookie", "host", "content-length", "content-type", "content-encoding",
            "transfer-encoding", "cache-control", "origin", "range", "x-amzn-trace-id", "tracestate",
            "x-csrf-token", "x-xsrf-token", "x-api-key":
            return true
        default: return false
        }
    }
}
