internal import NIOCore
internal import Pipeline

/// The reason for which a trusted peer's first bytes are not a valid PROXY header.
enum ProxyHeaderFault: Error, Equatable, Sendable {
    /// The bytes begin like neither version.
    case absent
    case malformed
    /// The header is longer than ``ProxyHeader/maximumLength``.
    case tooLong
    /// The checksum does not match.
    case checksum
}

/// A proxy's statement about the connection that it forwards (PROXY protocol, versions 1 and 2; HAProxy's
/// `doc/proxy-protocol.txt`).
enum ProxyHeader: Equatable, Sendable {
    /// The client's address, which differs from the connection's peer.
    case client(IPAddress)
    /// The connection is the proxy's own, or of a kind without such an address: its peer counts as the client.
    case peer

    /// The longest accepted header of version 2, in bytes. Fields after the addresses are skipped.
    static let maximumLength = 4096

    /// Reads and removes the header at the beginning of a connection's bytes; nil while it is incomplete.
    ///
    /// Bytes that cannot become a header are rejected at once (§2.1, §2.2: "as soon as possible").
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
