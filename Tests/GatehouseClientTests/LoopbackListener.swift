import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server on 127.0.0.1 that gives each request the same bytes, or swallows all, as some Wi-Fi does.
final class LoopbackListener: Sendable {
    private let descriptor: Int32
    private let requests: AsyncStream<Void>
    let url: URL

    /// - Parameters:
    ///   - response: the bytes that each connection gets after its request; nil for none, ever.
    ///   - hangsFirst: how many connections get none before.
    init(response: String?, hangsFirst: Int = 0) throws {
        let (requests, came) = AsyncStream<Void>.makeStream()
        self.requests = requests
        #if canImport(Darwin)
            let stream = SOCK_STREAM
        #else
            let stream = Int32(SOCK_STREAM.rawValue)
        #endif
        descriptor = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = descriptor
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard unsafe bind(listener, address, length) == 0, listen(listener, 16) == 0 else { return Int32(-1) }
                return unsafe getsockname(listener, address, &length)
            }
        }
        try #require(result == 0)
        url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"))
        guard let response else { return }  // the kernel accepts connections all the same
        Thread.detachNewThread {
            var hanging: [FileHandle] = []
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                let file = FileHandle(fileDescriptor: connection, closeOnDealloc: true)
                _ = file.availableData
                came.yield()
                if hanging.count < hangsFirst {
                    hanging.append(file)
                } else {
                    try? file.write(contentsOf: Data(response.utf8))
                }
            }
        }
    }

    /// Returns when one more request has come.
    func requested() async { for await _ in requests { return } }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
