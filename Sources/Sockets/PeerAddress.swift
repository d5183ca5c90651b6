internal import CEpoll
internal import NIOCore

/// An IP address and port in binary form. Formatting them as text would cost each connection several microseconds.
package enum PeerAddress: Sendable, Equatable {
    case v4(UInt32, port: UInt16)
    case v6(UInt128, port: UInt16)
    /// An address of another family.
    case other

    init(_ address: gatehouse_address) {
        self = withUnsafeBytes(of: address.bytes) { bytes in
            switch address.size {
            case 4: .v4(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)), port: address.port)
            case 16: .v6(UInt128(bigEndian: bytes.loadUnaligned(as: UInt128.self)), port: address.port)
            default: .other
            }
        }
    }

    var socketAddress: SocketAddress? {
        var bytes = ByteBuffer()
        switch self {
        case .v4(let address, let port):
            bytes.writeInteger(address)
            return try? SocketAddress(packedIPAddress: bytes, port: Int(port))
        case .v6(let address, let port):
            bytes.writeInteger(address)
            return try? SocketAddress(packedIPAddress: bytes, port: Int(port))
        case .other: return nil
        }
    }
}
