internal import NIOCore
internal import Pipeline

extension SocketAddress {
    /// The address without its port, read from the socket's own form: written out and read again it would cost each
    /// connection several microseconds. Nil for a Unix domain socket.
    var peer: IPAddress? {
        // `sockaddr_in` has four bytes of family and port before the address, `sockaddr_in6` four of flow information
        // more (RFC 3493, section 3.3). Both addresses are in network order.
        switch self {
        case .v4:
            unsafe withSockAddr { address, _ in
                IPAddress(
                    ipv4: UInt32(
                        bigEndian: unsafe UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            }
        case .v6:
            unsafe withSockAddr { address, _ in
                IPAddress(
                    ipv6: UInt128(
                        bigEndian: unsafe UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 8, as: UInt128.self)))
            }
        case .unixDomainSocket: nil
        }
    }
}
