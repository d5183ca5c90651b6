internal import Foundation

/// An HTTP server on 127.0.0.1 in a process of its own, so that its CPU time is not the client's. It answers a sign-in
/// with tokens, and everything else with a small JSON body.
enum LoopbackServer {
    private static let tokens =
        #"{"access_token":"\#(String(repeating: "a", count: 1024))","refresh_token":"v2.r","expires_in":86400,"#
        + #""user":{"id":"6f1a","email":"ada@example.com"}}"#
    private static let orders = #"{"orders":["\#(String(repeating: "o", count: 256))"]}"#

    /// Serves until the process ends. Prints the port first.
    static func run() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try check(
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    guard bind(listener, address, length) == 0, listen(listener, 64) == 0 else { return -1 }
                    return getsockname(listener, address, &length)
                }
            })
        FileHandle.standardOutput.write(Data("\(UInt16(bigEndian: address.sin_port))\n".utf8))
        while true {
            let connection = accept(listener, nil, nil)
            try check(connection)
            Thread.detachNewThread { serve(FileHandle(fileDescriptor: connection, closeOnDealloc: true)) }
        }
    }

    private static func check(_ result: Int32) throws {
        guard result >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Answers the requests of a connection, one after the other.
    private static func serve(_ connection: FileHandle) {
        var received = Data()
        let end = Data("\r\n\r\n".utf8)
        while true {
            let piece = connection.availableData
            guard !piece.isEmpty else { return }
            received += piece
            while let head = received.range(of: end) {
                let text = String(decoding: received[..<head.lowerBound], as: UTF8.self).lowercased()
                let declared = text.components(separatedBy: "content-length: ").dropFirst().first
                let count = declared.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0
                guard received.endIndex - head.upperBound >= count else { break }
                received.removeSubrange(..<(head.upperBound + count))
                let body = text.contains("/login ") ? tokens : orders
                let response =
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Tue, 24 Nov 2026 20:00:00 GMT\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
                guard (try? connection.write(contentsOf: Data(response.utf8))) != nil else { return }
            }
        }
    }
}
