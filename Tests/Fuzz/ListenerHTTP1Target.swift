// Compiled by run.sh into one module with Tests/Fuzz/Listener.

nonisolated(unsafe) private let gateway = {
    let gateway = FuzzGateway(http2: false, accounts: nil)
    gateway.measureOrdinary(Script(Array("\0GET /a HTTP/1.1\r\nHost: a\r\n\r\n".utf8) + [Script.escape, 2, 20]))
    return gateway
}()

/// Input: a ``Script`` of an HTTP/1.1 connection.
@_cdecl("fuzzListenerHTTP1")
public func fuzzListenerHTTP1(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    gateway.check(Script(Array(UnsafeBufferPointer(start: start, count: count))))
    return 0
}
