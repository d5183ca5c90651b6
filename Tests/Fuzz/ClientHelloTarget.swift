// Compiled by run.sh into one module with the reader of a handshake's first message.

/// The bytes in records of TLS, each with so many of them at most (RFC 8446, 5.1).
private func records(_ message: ArraySlice<UInt8>, length: Int) -> [UInt8] {
    var (rest, bytes) = (message, [UInt8]())
    while !rest.isEmpty {
        let fragment = rest.prefix(length)
        bytes += [22, 3, 1, UInt8(fragment.count >> 8), UInt8(fragment.count & 0xFF)] + fragment
        rest = rest.dropFirst(length)
    }
    return bytes
}

/// Input: one byte, then the connection's first bytes (0), or a handshake message to be cut into records of that length.
@_cdecl("fuzzClientHello")
public func fuzzClientHello(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let length = input.first.map(Int.init) else { return 0 }
    let stream = length == 0 ? Array(input[1...]) : records(input[1...], length: length)
    let whole = ClientHello.read(stream)
    if length > 0 {
        precondition(whole == ClientHello.read(records(input[1...], length: 1 << 14)), "records change the message")
    }
    var decision: ClientHello.Reading?
    for end in 0...stream.count {
        let reading = ClientHello.read(Array(stream[..<end]))
        if let decision { precondition(reading == decision, "more bytes change what is decided") }
        if reading != .incomplete { decision = reading }
    }
    precondition(decision ?? .incomplete == whole, "the last bytes are left out")
    if case .complete(let hello) = whole, let name = hello.serverName {
        precondition(name.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a name that would break a line")
    }
    return 0
}
