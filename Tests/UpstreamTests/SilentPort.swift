import Glibc

/// A port on which nobody listens, and which nobody else gets meanwhile: it is bound, and no more.
final class SilentPort {
    private let descriptor: CInt
    let port: UInt16

    /// Nil where the system has no socket or port left.
    init?() {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else { return nil }
    }

    deinit { close(descriptor) }

    var url: String { "http://127.0.0.1:\(port)" }
}
