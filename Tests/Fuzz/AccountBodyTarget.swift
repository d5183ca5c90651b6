// Compiled by run.sh into one module with Tests/Fuzz/Listener.

/// More than the account endpoints take.
private let longest = 70_000

private func made<Value>(_ make: () throws -> Value) -> Value {
    do { return try make() } catch { fatalError("\(error)") }
}

nonisolated(unsafe) private let gateway = {
    let gateway = FuzzGateway(http2: false, accounts: made { try AccountCalls() })
    let body = Array("e\0{\"email\":\"a@b.example\",\"password\":\"".utf8) + [0xF5, 7, 250, 0x61] + Array("\"}".utf8)
    gateway.measureOrdinary(request(body))
    return gateway
}()

/// A request with what a ``Script`` sends as its body; the first byte is the operation's.
private func request(_ input: [UInt8]) -> Script {
    let body = Script(Array(input.dropFirst())).bytes(atMost: longest)
    let operation = String(UnicodeScalar(0x61 + (input.first ?? 0) % 26))
    let head = "POST /c\(operation) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n"
    return Script(sending: Array(head.utf8) + body)
}

/// Input: which operation (one byte), then the body of an account call, written as a ``Script``.
@_cdecl("fuzzAccountBody")
public func fuzzAccountBody(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    gateway.check(request(Array(UnsafeBufferPointer(start: start, count: count))))
    return 0
}
