internal import HTTP1
internal import HTTP2
internal import HTTPTypes

/// The body that a response's head announces. Initializers also write the head to a list of fields.
struct HTTP2ResponseHead {
    /// Whether a body may follow.
    let hasBody: Bool
    /// The Content-Length of that body; nil if unknown.
    let contentLength: Int?

    private init(_ status: HTTPResponse.Status, toHead: Bool, contentLength: Int?) {
        let code = status.code
        hasBody = !(toHead || code < 200 || code == 204 || code == 304)
        self.contentLength = hasBody ? contentLength : nil
    }

    /// Writes a response's head.
    ///
    /// - Parameter toHead: whether the request's method is HEAD.
    init(_ head: HTTPResponse, toHead: Bool, to list: HTTP2FieldList) {
        list.begin(head.status)
        var length: Int?
        for field in head.headerFields {
            let name = field.name.canonicalName
            if Self.isOfTheConnection(name) { continue }
            if name == "content-length" {
                if Self.knowsNoLength(head.status) { continue }
                length = FieldText.contentLength(field.value)
            }
            list.append(name, field.value, isNeverIndexed: name == "set-cookie" || name == "x-request-id")
        }
        self.init(head.status, toHead: toHead, contentLength: length)
    }

    /// Writes `101 Switching Protocols` as the response to an extended CONNECT: 200, without the fields of the HTTP/1.1
    /// handshake (RFC 8441 §5).
    init(switching head: HTTPResponse, to list: HTTP2FieldList) {
        var head = head
        head.status = .ok
        head.headerFields[.secWebSocketAccept] = nil
        head.headerFields[.contentLength] = nil
        self.init(head, toHead: false, to: list)
    }

    /// Writes a head with fields that are passed on unchanged.
    ///
    /// - Parameter requestID: the value of `X-Request-Id`.
    init(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, toHead: Bool, to list: HTTP2FieldList
    ) {
        list.begin(status)
        if let length = lines.contentLength, !Self.knowsNoLength(status) {
            list.append("content-length", String(length))
        }
        unsafe lines.forEachField { name, value in
            let isNeverIndexed = unsafe FieldText.isSame(name, ignoringCase: "set-cookie")
            unsafe list.append(name, value, isNeverIndexed: isNeverIndexed)
        }
        list.append("x-request-id", requestID, isNeverIndexed: true)
        self.init(status, toHead: toHead, contentLength: lines.contentLength)
    }

    /// RFC 9110 §8.6: no Content-Length with 1xx or 204, not even 0.
    private static func knowsNoLength(_ status: HTTPResponse.Status) -> Bool {
        status.code < 200 || status.code == 204
    }

    /// RFC 9113 §8.2.2: connection-specific fields of HTTP/1.1 must not be sent.
    private static func isOfTheConnection(_ name: String) -> Bool {
        switch name {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": true
        default: false
        }
    }
}

extension HTTP2FieldList {
    fileprivate func begin(_ status: HTTPResponse.Status) {
        removeAll()
        append(":status", String(status.code))
    }

    /// Writes the head of a 100 (Continue) response (RFC 9110 §15.2.1).
    func writeContinue() { begin(.continue) }

    /// Writes a response's trailers.
    func write(trailers: HTTPFields) {
        removeAll()
        for field in trailers { append(field.name.canonicalName, field.value, isNeverIndexed: true) }
    }
}
