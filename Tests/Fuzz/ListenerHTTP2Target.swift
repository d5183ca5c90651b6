// Compiled by run.sh into one module with Tests/Fuzz/Listener.

/// The preface, SETTINGS, and then GET requests: method, scheme, path and authority from HPACK's static table, the last
/// two with values "/a" and "a".
private let ordinary: [UInt8] =
    Array("\0PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0xF5, 8, 4, 0, 0xF5, 11, 0xF5, 3, 0xF5, 10, 1, 5, 0x82, 0x86]
    + [0x04, 2, 0x2F, 0x61, 0x01, 1, 0x61, 0xF5, 11, 0xF5, 2, 10]

nonisolated(unsafe) private let gateway = {
    let gateway = FuzzGateway(http2: true, accounts: nil)
    gateway.measureOrdinary(Script(ordinary))
    return gateway
}()

/// Input: a ``Script`` of a connection that may be HTTP/2.
@_cdecl("fuzzListenerHTTP2")
public func fuzzListenerHTTP2(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    gateway.check(Script(Array(UnsafeBufferPointer(start: start, count: count))))
    return 0
}
