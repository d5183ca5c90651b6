// Compiled by run.sh into one module with Sources/HTTP1.
import HTTPTypes
import NIOCore

/// Small, so that the fuzzer reaches them.
private let limits = HeadLimits(requestLine: 48, fieldLine: 40, head: 256, fieldCount: 6)

private func heads(_ bytes: ArraySlice<UInt8>, step: Int) -> [RequestHead] {
    var parser = RequestHeadParser(limits: limits, scheme: "http")
    var buffer = ByteBuffer()
    var heads: [RequestHead] = []
    var rest = bytes
    do {
        while !rest.isEmpty {
            buffer.writeBytes(rest.prefix(step))
            rest = rest.dropFirst(step)
            while let head = try parser.next(from: &buffer) { heads.append(head) }
        }
    } catch {
        // The heads before the fault are the result.
    }
    return heads
}

private func written(_ head: RequestHead) -> [UInt8] {
    var buffer = ByteBuffer()
    buffer.writeString("\(head.request.method.rawValue) \(head.request.path ?? "") HTTP/1.\(head.minorVersion)\r\n")
    if let authority = head.request.authority { buffer.writeString("Host: \(authority)\r\n") }
    for field in head.request.headerFields { buffer.writeFieldLine(field) }
    if head.framing == .chunked { buffer.writeString("Transfer-Encoding: chunked\r\n") }
    buffer.writeString("\r\n")
    return Array(buffer.readableBytesView)
}

private func areSame(_ one: RequestHead, _ other: RequestHead) -> Bool {
    one.request == other.request && one.framing == other.framing && one.keepAlive == other.keepAlive
        && one.expectsContinue == other.expectsContinue && one.minorVersion == other.minorVersion
}

/// Input: how the bytes are cut (one byte), then the bytes of a connection whose requests have no bodies.
@_cdecl("fuzzRequestHead")
public func fuzzRequestHead(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = input.first else { return 0 }
    let whole = heads(input[1...], step: count)
    let cut = heads(input[1...], step: Int(first) + 1)
    precondition(whole.count == cut.count && zip(whole, cut).allSatisfy(areSame), "the result depends on the cut")
    for head in whole {
        // Written out, a head may be longer than it came: Host may have been in the target alone, a blank is added.
        var parser = RequestHeadParser(limits: HeadLimits(), scheme: "http")
        var buffer = ByteBuffer(bytes: written(head))
        guard let again = try? parser.next(from: &buffer) else { preconditionFailure("a written head is refused") }
        precondition(areSame(head, again) && buffer.readableBytes == 0, "a written head reads differently")
    }
    return 0
}
