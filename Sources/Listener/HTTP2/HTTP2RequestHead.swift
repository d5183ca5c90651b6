internal import HTTP1
internal import HTTPTypes

/// The head of an HTTP/2 request, fit to become HTTP/1.1 towards a backend.
struct HTTP2RequestHead {
    /// As HTTP/1.1's parser gives it: the authority apart, no `Host` among the fields.
    var request: HTTPRequest
    var contentLength: Int?
    var expectsContinue: Bool
}

/// Takes the fields of a head or of trailers as they are unpacked, strictly (RFC 9113 §8.2, §8.3). It refuses fields
/// that HTTP/1.1 could not carry or would read differently.
struct HTTP2HeadReader {
    private let limits: HeadLimits
    /// `http` or `https`, by the listener's kind.
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
    /// Where the cookie stands among `fields`.
    private var cookieIndex: Int?
    private var bytes = 0
    private var fieldCount = 0
    /// The first that was found. Nothing that follows is stored.
    private var fault: HTTP1Fault?

    /// How many times the bytes that a head may have are unpacked at most. A head that exceeds the first is refused, and
    /// one that exceeds this is an attack.
    private static let mostUnpacked = 4

    init(limits: HeadLimits, scheme: String) {
        self.limits = limits
        self.scheme = scheme
        fields.reserveCapacity(12)
    }

    /// Takes the next field of a head.
    ///
    /// - Parameter repeated: what came last on the same connection; becomes this request's if it has one.
    /// - Returns: whether the rest is to be unpacked.
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

    /// Takes the next field of trailers. These hold no pseudo-fields, names with capitals, values of several lines, or
    /// fields about a connection (RFC 9113 §8.1, §8.2.1, §8.2.2).
    ///
    /// - Returns: whether the rest is to be unpacked.
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
        // The length of the line in HTTP/1.1: `name: value CRLF`.
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

    /// Whether no HTTP/2 message can have the field (RFC 9113 §8.2.2).
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

    /// RFC 9113 §8.3: each once, before all fields.
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
        unsafe fields.append(HTTPField(name: name, lenientValue: value))
    }

    private mutating func takeAuthorization(
        _ text: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, repeating repeated: inout RepeatedField
    ) throws(HTTP1Fault) {
        if unsafe repeated.holds(value), let field = repeated.field {
            fields.append(field)
            return
        }
        guard let name = unsafe FieldText.name(text), unsafe FieldText.isValue(value) else { throw .malformedField }
        let field = unsafe HTTPField(name: name, lenientValue: value)
        repeated.keep(field, length: value.count)
        fields.append(field)
    }

    /// Reads a field that says what the message is.
    ///
    /// - Returns: whether it is used up.
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
                // RFC 9113 §8.2.3: crumbs are one cookie for who knows no crumbs.
                unsafe fields[cookieIndex].value += "; " + String(decoding: value, as: UTF8.self)
                return true
            }
            cookieIndex = fields.count
        }
        return false
    }

    /// The whole head.
    func finish() throws(HTTP1Fault) -> HTTP2RequestHead {
        if let fault { throw fault }
        guard let method, let path, hasScheme,
            // RFC 8441 §4: without a protocol CONNECT asks for a tunnel to anywhere, which is not served.
            (method == .connect) == (connectProtocol != nil),
            connectProtocol.map(FieldText.isToken) != false
        else { throw .malformedRequestLine }
        // RFC 9110 §9.3.6: what follows a CONNECT is no content.
        guard method != .connect || contentLength == nil else { throw .malformedContentLength }
        // Method, target and version with their blanks, as HTTP/1.1 counts the line.
        guard methodLength + path.utf8.count + 10 <= limits.requestLine else { throw .targetTooLong }
        guard FieldText.isVisible(path), path.utf8.first == UInt8(ascii: "/") || (path == "*" && method == .options)
        else { throw .malformedTarget }
        let authority = try checkedAuthority()
        var fields = HTTPFields()
        fields.reserveCapacity(self.fields.count)
        // Appending one by one takes a generic detour each time.
        fields.replaceSubrange(0..<0, with: self.fields)
        var request = HTTPRequest(
            method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
        if let connectProtocol { request.extendedConnectProtocol = connectProtocol }
        return HTTP2RequestHead(request: request, contentLength: contentLength, expectsContinue: expectsContinue)
    }

    func finishTrailers() throws(HTTP1Fault) {
        if let fault { throw fault }
    }

    /// RFC 9113 §8.3.1: `:authority`, or `host` in its stead; both must say the same.
    private func checkedAuthority() throws(HTTP1Fault) -> String {
        guard let authority = authority ?? host else { throw .missingHost }
        guard Authority.isValid(authority) else { throw .malformedHost }
        if let host, !Authority.isValid(host) || !Authority.isSame(host, authority) {
            throw .malformedHost
        }
        return authority
    }
}
