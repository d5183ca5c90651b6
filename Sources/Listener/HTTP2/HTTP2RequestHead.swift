internal import Encoding
internal import HTTP1
internal import HTTPTypes
internal import NIOHPACK

/// The head of an HTTP/2 request, fit to become HTTP/1.1 towards a backend.
struct HTTP2RequestHead {
    /// As HTTP/1.1's parser gives it: the authority apart, no `Host` among the fields.
    var request: HTTPRequest
    var contentLength: Int?
    var expectsContinue: Bool
}

/// Turns header lists into requests, strictly (RFC 9113 §8.2, §8.3). It refuses fields that HTTP/1.1 could not carry or
/// would read differently.
struct HTTP2RequestHeadReader {
    let limits: HeadLimits
    /// `http` or `https`, by the listener's kind.
    let scheme: String

    private struct Reading {
        var method: String?
        var scheme: String?
        var authority: String?
        var path: String?
        var connectProtocol: String?
        var host: String?
        var contentLength: Int?
        var expectsContinue = false
        var fields: [HTTPField] = []
        /// Where the cookie stands among `fields`.
        var cookieIndex: Int?
        var bytes = 0
        var fieldCount = 0
    }

    func read(_ headers: HPACKHeaders) throws(HTTP1Fault) -> HTTP2RequestHead {
        var reading = Reading()
        reading.fields.reserveCapacity(headers.count)
        for (name, value, _) in headers {
            // The length of the line in HTTP/1.1: `name: value CRLF`.
            let length = name.utf8.count + value.utf8.count + 4
            reading.bytes += length
            guard length <= limits.fieldLine, reading.bytes <= limits.head else { throw .fieldsTooLarge }
            if name.utf8.first == UInt8(ascii: ":") {
                try takePseudoField(name, value, &reading)
            } else {
                try takeField(name, value, &reading)
            }
        }
        return try finish(reading)
    }

    /// Refuses trailers that hold what no trailers can: pseudo-fields, names with capitals, values of several lines,
    /// fields about a connection (RFC 9113 §8.1, §8.2.1, §8.2.2).
    func checkTrailers(_ trailers: HPACKHeaders) throws(HTTP1Fault) {
        for (name, value, _) in trailers {
            guard FieldText.name(name) != nil, FieldText.isValue(value), !Self.isOfConnection(name, value) else {
                throw .malformedField
            }
        }
    }

    /// Whether no HTTP/2 message can have the field (RFC 9113 §8.2.2).
    private static func isOfConnection(_ name: String, _ value: String) -> Bool {
        switch name {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": true
        case "te": !value.utf8.elementsEqual("trailers".utf8)
        default: false
        }
    }

    /// RFC 9113 §8.3: each once, before all fields.
    private func takePseudoField(_ name: String, _ value: String, _ reading: inout Reading) throws(HTTP1Fault) {
        guard reading.fieldCount == 0 else { throw .malformedField }
        let isFirst: Bool
        switch ExactText(name) {
        case ":method": isFirst = Self.set(&reading.method, value)
        case ":scheme": isFirst = Self.set(&reading.scheme, value)
        case ":authority": isFirst = Self.set(&reading.authority, value)
        case ":path": isFirst = Self.set(&reading.path, value)
        case ":protocol": isFirst = Self.set(&reading.connectProtocol, value)
        default: isFirst = false
        }
        guard isFirst else { throw .malformedField }
    }

    private static func set(_ place: inout String?, _ value: String) -> Bool {
        defer { place = value }
        return place == nil
    }

    private func takeField(_ text: String, _ value: String, _ reading: inout Reading) throws(HTTP1Fault) {
        reading.fieldCount += 1
        guard reading.fieldCount <= limits.fieldCount else { throw .tooManyFields }
        guard let name = FieldText.name(text), FieldText.isValue(value), !Self.isOfConnection(text, value) else {
            throw .malformedField
        }
        switch text {
        case "host":
            guard Self.set(&reading.host, value) else { throw .malformedHost }
            return
        case "content-length":
            guard reading.contentLength == nil, let length = FieldText.contentLength(value) else {
                throw .malformedContentLength
            }
            reading.contentLength = length
        case "expect":
            guard FieldText.isSame(value, ignoringCase: "100-continue") else { throw .unsupportedExpectation }
            reading.expectsContinue = true
        case "cookie":
            if let index = reading.cookieIndex {
                // RFC 9113 §8.2.3: crumbs are one cookie for who knows no crumbs.
                reading.fields[index].value += "; " + value
                return
            }
            reading.cookieIndex = reading.fields.count
        default:
            break
        }
        reading.fields.append(HTTPField(name: name, lenientValue: value.utf8))
    }

    private func finish(_ reading: Reading) throws(HTTP1Fault) -> HTTP2RequestHead {
        guard let methodText = reading.method, let path = reading.path, let scheme = reading.scheme,
            FieldText.isToken(methodText), methodText.utf8.count <= 32, FieldText.isVisible(scheme),
            scheme == "http" || scheme == "https",
            let method = HTTPRequest.Method(rawValue: methodText),
            // RFC 8441 §4: without a protocol CONNECT asks for a tunnel to anywhere, which is not served.
            (method == .connect) == (reading.connectProtocol != nil),
            reading.connectProtocol.map(FieldText.isToken) != false
        else { throw .malformedRequestLine }
        // RFC 9110 §9.3.6: what follows a CONNECT is no content.
        guard method != .connect || reading.contentLength == nil else { throw .malformedContentLength }
        // Method, target and version with their blanks, as HTTP/1.1 counts the line.
        guard methodText.utf8.count + path.utf8.count + 10 <= limits.requestLine else { throw .targetTooLong }
        guard FieldText.isVisible(path), path.utf8.first == UInt8(ascii: "/") || (path == "*" && method == .options)
        else { throw .malformedTarget }
        let authority = try Self.authority(reading)
        var fields = HTTPFields()
        fields.reserveCapacity(reading.fields.count)
        // Appending one by one takes a generic detour each time.
        fields.replaceSubrange(0..<0, with: reading.fields)
        var request = HTTPRequest(
            method: method, scheme: self.scheme, authority: authority, path: path, headerFields: fields)
        if let connectProtocol = reading.connectProtocol { request.extendedConnectProtocol = connectProtocol }
        return HTTP2RequestHead(
            request: request,
            contentLength: reading.contentLength, expectsContinue: reading.expectsContinue)
    }

    /// RFC 9113 §8.3.1: `:authority`, or `host` in its stead; both must say the same.
    private static func authority(_ reading: Reading) throws(HTTP1Fault) -> String {
        guard let authority = reading.authority ?? reading.host else { throw .missingHost }
        guard Authority.isValid(authority) else { throw .malformedHost }
        if let host = reading.host, !Authority.isValid(host) || !Authority.isSame(host, authority) {
            throw .malformedHost
        }
        return authority
    }
}
