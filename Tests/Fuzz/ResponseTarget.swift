// Compiled by run.sh into one module with Sources/HTTP1.
import HTTPTypes
import NIOCore

private let limits = HeadLimits(requestLine: 48, fieldLine: 40, head: 256, fieldCount: 6)

private struct Reading: Equatable {
    var response: HTTPResponse?
    var framing: BodyFraming?
    var keepAlive: Bool?
    var body: [UInt8] = []
    var hasEnded = false
}

/// Head and body as far as they can be read before the bytes or the reader's patience end.
private func read(_ bytes: ArraySlice<UInt8>, step: Int, toHead: Bool) -> Reading {
    var parser = ResponseHeadParser(limits: limits)
    var decoder: BodyDecoder?
    var reading = Reading()
    var buffer = ByteBuffer()
    var rest = bytes
    do {
        while !rest.isEmpty, !reading.hasEnded {
            buffer.writeBytes(rest.prefix(step))
            rest = rest.dropFirst(step)
            if decoder == nil, let head = try parser.next(from: &buffer, toHead: toHead) {
                (reading.response, reading.framing, reading.keepAlive) = (head.response, head.framing, head.keepAlive)
                decoder = BodyDecoder(head.framing)
            }
            while !reading.hasEnded, let part = try decoder?.next(from: &buffer) {
                switch part {
                case .data(let data): reading.body += data.readableBytesView
                case .end: reading.hasEnded = true
                }
            }
        }
    } catch {
        // A fault ends the reading where it is.
    }
    return reading
}

private func written(_ reading: Reading, _ response: HTTPResponse) -> [UInt8] {
    var buffer = ByteBuffer()
    buffer.writeStatusLine(response.status)
    for field in response.headerFields { buffer.writeFieldLine(field) }
    if reading.framing == .chunked { buffer.writeString("Transfer-Encoding: chunked\r\n") }
    buffer.writeString("\r\n")
    if reading.framing == .chunked {
        buffer.writeChunk(ByteBuffer(bytes: reading.body))
        buffer.writeString("0\r\n\r\n")
    } else {
        buffer.writeBytes(reading.body)
    }
    return Array(buffer.readableBytesView)
}

/// Checks the lines of heads that are passed on without having become values.
private func checkLines(of bytes: ArraySlice<UInt8>, toHead: Bool) {
    var (listParser, lineParser) = (
        ResponseHeadParser(limits: limits), ResponseHeadParser(limits: limits, copiesLines: true)
    )
    var (one, other) = (ByteBuffer(bytes: bytes), ByteBuffer(bytes: bytes))
    let outcome = Result { try listParser.next(from: &one, toHead: toHead) }
    let linesOutcome = Result { try lineParser.next(from: &other, toHead: toHead) }
    switch (outcome, linesOutcome) {
    case (.failure(let fault), .failure(let same)):
        precondition(fault as? HTTP1Fault == same as? HTTP1Fault, "one form finds another fault")
    case (.success(let list), .success(let lines)):
        precondition(
            list?.framing == lines?.framing && list?.keepAlive == lines?.keepAlive, "one form frames otherwise")
        guard let list, case .lines(let copied)? = lines?.fields else { return }
        let left = [
            "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "trailer", "upgrade",
            "x-request-id",
            "content-length",
        ]
        func kept(_ fields: HTTPFields) -> [HTTPField] { fields.filter { !left.contains($0.name.canonicalName) } }
        precondition(kept(copied.fields) == kept(list.fields.list), "the lines are not the fields")
        precondition(copied.fields.count - kept(copied.fields).count <= 1, "a line was not left out")
    default: preconditionFailure("one form takes what the other refuses")
    }
}

/// Input: how the bytes are cut (one byte), whether they answer HEAD (one bit), then the backend's bytes.
@_cdecl("fuzzResponse")
public func fuzzResponse(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard count >= 2 else { return 0 }
    let toHead = input[1] & 1 == 1
    checkLines(of: input[2...], toHead: toHead)
    let whole = read(input[2...], step: count, toHead: toHead)
    let cut = read(input[2...], step: Int(input[0]) + 1, toHead: toHead)
    precondition(whole == cut, "the result depends on the cut")
    if whole.hasEnded, let response = whole.response {
        var parser = ResponseHeadParser()
        var buffer = ByteBuffer(bytes: written(whole, response))
        guard let head = try? parser.next(from: &buffer, toHead: toHead) else {
            preconditionFailure("a written head is refused")
        }
        precondition(
            head.response.status.code == response.status.code && head.response.headerFields == response.headerFields
                && head.framing == whole.framing, "a written head reads differently")
        var decoder = BodyDecoder(head.framing)
        var body: [UInt8] = []
        while case .data(let data)? = try? decoder.next(from: &buffer) { body += data.readableBytesView }
        precondition(body == whole.body && (toHead || buffer.readableBytes == 0), "a written body reads differently")
    }
    return 0
}
