internal import HTTP1
internal import HTTPTypes
internal import NIOHPACK

extension HPACKHeaders {
    /// A response's trailers as a header list.
    init(trailers: HTTPFields) {
        self.init()
        for field in trailers { add(name: field.name.canonicalName, value: field.value, indexing: .nonIndexable) }
    }
}

/// The head of a response as a header list, and how much body it announces.
struct HTTP2ResponseHead {
    let headers: HPACKHeaders
    /// Whether a body may follow.
    let hasBody: Bool
    /// That body's Content-Length.
    let contentLength: Int?

    /// - Parameter toHead: whether it answers a HEAD request.
    init(_ head: HTTPResponse, toHead: Bool) {
        let code = head.status.code
        var headers = HPACKHeaders()
        headers.reserveCapacity(head.headerFields.count + 1)
        headers.add(name: ":status", value: String(code))
        var length: Int?
        for field in head.headerFields {
            let name = field.name.canonicalName
            if Self.isOfTheConnection(name) { continue }
            if name == "content-length" {
                // RFC 9110 §8.6: never with 1xx or 204, not even 0.
                if code < 200 || code == 204 { continue }
                length = FieldText.contentLength(field.value)
            }
            headers.add(name: name, value: field.value, indexing: Self.indexing(name))
        }
        self.headers = headers
        hasBody = !(toHead || code < 200 || code == 204 || code == 304)
        contentLength = hasBody ? length : nil
    }

    /// `101 Switching Protocols` as an extended CONNECT hears it: 200, and without what only HTTP/1.1's handshake has
    /// (RFC 8441 §5).
    init(switching head: HTTPResponse) {
        var head = head
        head.status = .ok
        head.headerFields[.secWebSocketAccept] = nil
        head.headerFields[.contentLength] = nil
        self.init(head, toHead: false)
    }

    /// RFC 9113 §8.2.2: what HTTP/1.1 says about a connection has no meaning here.
    private static func isOfTheConnection(_ name: String) -> Bool {
        switch name {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": true
        default: false
        }
    }

    /// Fields that differ each time would only push the others out of the table. Secrets are kept out of tables.
    private static func indexing(_ name: String) -> HPACKIndexing {
        switch name {
        case "set-cookie": .neverIndexed
        case "x-request-id", "content-length", "etag", "age", "location": .nonIndexable
        default: .indexable
        }
    }
}
