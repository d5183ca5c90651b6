internal import HTTP1
internal import HTTPTypes

/// The head of an HTTP/2 request, in a form that can be forwarded as HTTP/1.1.
struct HTTP2RequestHead {
    /// The request as the HTTP/1.1 parser returns it: the authority is separate, not a `Host` field.
    var request: HTTPRequest
    var contentLength: Int?
    var expectsContinue: Bool
}

/// A strict reader of the decoded fields of a head or trailers (RFC 9113 §8.2, §8.3). It rejects fields that HTTP/1.1
/// could not carry or would interpret differently.
struct HTTP2HeadReader {
    private let limits: HeadLimits
    /// The listener's scheme, `http` or `https`.
    private let scheme: String

    private var method: HTTPRequest.Method?
    private var methodLength = 0
    private var hasScheme = false
    private var authority: String?
    private var path: String?
    private var connectProtocol: String?
    private var host: String?
    private var contentLength: Int?
    private var expectsContinue = false
    private var fields: [HTTPField] = []
    /// The index of the cookie in `fields`.
    private var cookieIndex: Int?
    private var bytes = 0
    private var fieldCount = 0
    /// The first fault; fields after it are not stored.
    private var fault: HTTP1Fault?

    /// The multiple of the head's size limit that is decoded at most. A head above the limit is refused; a head above
    /// this multiple is an attack.
    private static let mostUnpacked = 4

    init(limits: HeadLimits, scheme: String) {
        self.limits = limits
        self.scheme = scheme
        fields.reserveCapacity(12)
    }

    /// Takes the next field of a head.
    ///
    /// - Parameter repeated: the connection's last `Authorization`; set to this request's if it has one.
    /// - Returns: whether decoding continues.
    mutating func take(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, repeating repeated: inout RepeatedField
    ) -> Bool {
        unsafe take(name, value) { reader throws(HTTP1Fault) in
            if unsafe name.first == UInt8(ascii: ":") {
                try unsafe reader.takePseudoField(name, value)
            } else {
                try unsafe reader.takeField(name, value, repeating: &repeated)
            }
        }
    }

    /// Takes the next trailer field. Rejects pseudo-fields, names with capitals, values of several lines, and
    /// connection-specific fields (RFC 9113 §8.1, §8.2.1, §8.2.2).
    ///
    /// - Returns: whether decoding continues.
    mutating func takeTrailer(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        unsafe take(name, value) { reader throws(HTTP1Fault) in
            try reader.countField()
            guard unsafe FieldText.name(name) != nil, unsafe FieldText.isValue(value),
                unsafe !Self.isOfConnection(name, value)
            else { throw .malformedField }
        }
    }

    private mutating func take(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        _ body: (inout Self) throws(HTTP1Fault) -> Void
    ) -> Bool {
        // The length of the field line in HTTP/1.1: `name: value CRLF`.
        let length = name.count + value.count + 4
        bytes += length
        guard fault == nil else { return bytes <= Self.mostUnpacked * limits.head }
        do throws(HTTP1Fault) {
            guard length <= limits.fieldLine, bytes <= limits.head else { throw .fieldsTooLarge }
            try body(&self)
        } catch {
            fault = error
        }
        return bytes <= Self.mostUnpacked * limits.head
    }

    private mutating func countField() throws(HTTP1Fault) {
        fieldCount += 1
        guard fieldCount <= limits.fieldCount else { throw .tooManyFields }
    }

    /// Whether the field is connection-specific and thus forbidden in HTTP/2 (RFC 9113 §8.2.2).
    private static func isOfConnection(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 2: unsafe FieldText.isSame(name, "te") && !FieldText.isSame(value, "trailers")
        case 7: unsafe FieldText.isSame(name, "upgrade")
        case 10: unsafe FieldText.isSame(name, "connection") || FieldText.isSame(name, "keep-alive")
        case 16: unsafe FieldText.isSame(name, "proxy-connection")
        case 17: unsafe FieldText.isSame(name, "transfer-encoding")
        default: false
        }
    }

    /// RFC 9113 §8.3: each at most once, and before all regular fields.
    private mutating func takePseudoField(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(HTTP1Fault) {
        guard fieldCount == 0 else { throw .malformedField }
        if unsafe FieldText.isSame(name, ":method") {
            guard methodLength == 0 else { throw .malformedField }
            let text = unsafe String(decoding: value, as: UTF8.self)
            guard value.count <= 32, FieldText.isToken(text), let method = HTTPRequest.Method(rawValue: text) else {
                throw .malformedRequestLine
            }
            (self.method, methodLength) = (method, value.count)
        } else if unsafe FieldText.isSame(name, ":scheme") {
            guard !hasScheme else { throw .malformedField }
            guard unsafe FieldText.isSame(value, "https") || FieldText.isSame(value, "http") else {
                throw .malformedRequestLine
            }
            hasScheme = true
        } else if unsafe FieldText.isSame(name, ":authority") {
            try unsafe Self.set(&authority, value)
        } else if unsafe FieldText.isSame(name, ":path") {
            try unsafe Self.set(&path, value)
        } else if unsafe FieldText.isSame(name, ":protocol") {
            try unsafe Self.set(&connectProtocol, value)
        } else {
            throw .malformedField
        }
    }

    private static func set(_ place: inout String?, _ value: UnsafeRawBufferPointer) throws(HTTP1Fault) {
        guard place == nil else { throw .malformedField }
        unsafe place = String(decoding: value, as: UTF8.self)
    }

    private mutating func takeField(
        _ text: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, repeating repeated: inout RepeatedField
    ) throws(HTTP1Fault) {
        try countField()
        if unsafe FieldText.isSame(text, "authorization") {
            return try unsafe takeAuthorization(text, value, repeating: &repeated)
        }
        guard let name = unsafe FieldText.name(text), unsafe FieldText.isValue(value),
            unsafe !Self.isOfConnection(text, value)
        else { throw .malformedField }
        if unsafe try takeFraming(text, value) { return }
        unsafe fields.append(HTTPField(name: name, validValue: value))
    }

    private mutating func takeAuthorization(
        _ text: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, repeating repeated: inout RepeatedField
    ) throws(HTTP1Fault) {
        if unsafe repeated.holds(value), let field = repeated.field {
            fields.append(field)
            return
        }
        guard let name = unsafe FieldText.name(text), unsafe FieldText.isValue(value) else { throw .malformedField }
        let field = unsafe HTTPField(name: name, validValue: value)
        repeated.keep(field, length: value.count)
        fields.append(field)
    }

    /// Interprets `Host`, `Content-Length`, `Expect` and `Cookie`.
    ///
    /// - Returns: whether the field is consumed and must not be stored.
    private mutating func takeFraming(
        _ text: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(HTTP1Fault) -> Bool {
        if unsafe FieldText.isSame(text, "host") {
            guard host == nil else { throw .malformedHost }
            unsafe host = String(decoding: value, as: UTF8.self)
            return true
        }
        if unsafe FieldText.isSame(text, "content-length") {
            guard contentLength == nil, let length = unsafe FieldText.contentLength(value) else {
                throw .malformedContentLength
            }
            contentLength = length
        } else if unsafe FieldText.isSame(text, "expect") {
            guard unsafe FieldText.isSame(value, ignoringCase: "100-continue") else { throw .unsupportedExpectation }
            expectsContinue = true
        } else if unsafe FieldText.isSame(text, "cookie") {
            if let cookieIndex {
                // RFC 9113 §8.2.3: split cookies are joined for HTTP/1.1.
                unsafe fields[cookieIndex].value += "; " + String(decoding: value, as: UTF8.self)
                return true
            }
            cookieIndex = fields.count
        }
        return false
    }

    /// Returns the complete head.
    func finish() throws(HTTP1Fault) -> HTTP2RequestHead {
        if let fault { throw fault }
        guard let method, let path, hasScheme,
            // RFC 8441 §4: CONNECT without `:protocol` requests a tunnel to any host, which is not supported.
            (method == .connect) == (connectProtocol != nil),
            connectProtocol.map(FieldText.isToken) != false
        else { throw .malformedRequestLine }
        // RFC 9110 §9.3.6: a CONNECT request has no content.
        guard method != .connect || contentLength == nil else { throw .malformedContentLength }
        // The length of the HTTP/1.1 request line: method, target and version with their spaces.
        guard methodLength + path.utf8.count + 10 <= limits.requestLine else { throw .targetTooLong }
        guard FieldText.isVisible(path), path.utf8.first == UInt8(ascii: "/") || (path == "*" && method == .options)
        else { throw .malformedTarget }
        let authority = try checkedAuthority()
        var request = HTTPRequest(
            method: method, scheme: scheme, authority: authority, path: path, headerFields: HTTPFields(fields))
        if let connectProtocol { request.extendedConnectProtocol = connectProtocol }
        return HTTP2RequestHead(request: request, contentLength: contentLength, expectsContinue: expectsContinue)
    }

    func finishTrailers() throws(HTTP1Fault) {
        if let fault { throw fault }
    }

    /// RFC 9113 §8.3.1: `:authority`, or `host` if it is missing; if both are present, they must be equal.
    private func checkedAuthority() throws(HTTP1Fault) -> String {
        guard let authority = authority ?? host else { throw .missingHost }
        guard Authority.isValid(authority) else { throw .malformedHost }
        if let host, !Authority.isValid(host) || !Authority.isSame(host, authority) {
            throw .malformedHost
        }
        return authority
    }
}
