internal import NIOCore
internal import Pipeline

/// Why the bytes that a trusted peer begins with are no PROXY header.
enum ProxyHeaderFault: Error, Equatable, Sendable {
    /// They begin like neither version.
    case absent
    case malformed
    /// More bytes than are read for a header.
    case tooLong
    /// The checksum in it is that of other bytes.
    case checksum
}

/// A proxy's statement about the connection that it passes on (the PROXY protocol, versions 1 and 2, of HAProxy's
/// `doc/proxy-protocol.txt`).
enum ProxyHeader: Equatable, Sendable {
    /// The client's address is another than the connection's peer.
    case client(IPAddress)
    /// The connection is the proxy's own, or of a kind that has no such address: its peer is the client.
    case peer

    /// The most bytes read for a header of version 2; what it says beyond the addresses is skipped.
    static let maximumLength = 4096

    /// Takes the header from the front of a connection's bytes; nil while it is not complete.
    ///
    /// Bytes that can no longer become a header are refused at once (§2.1, §2.2: "as soon as possible").
    static func read(from buffer: inout ByteBuffer) throws(ProxyHeaderFault) -> ProxyHeader? {
        let bytes = buffer.readableBytesView
        guard let first = bytes.first else { return nil }
        let (header, end): (ProxyHeader, Int)
        if first == ProxyHeaderV2.signature[0] {
            guard let found = try ProxyHeaderV2.read(bytes) else { return nil }
            (header, end) = found
        } else {
            guard let found = try ProxyHeaderV1.read(bytes) else { return nil }
            (header, end) = found
        }
        buffer.moveReaderIndex(to: end)
        return header
    }
}
