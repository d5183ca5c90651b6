internal import CCurl
internal import Glibc
internal import NIOCore
internal import Sockets

/// The socket of a connection without TLS, taken over from libcurl once it has connected it.
///
/// libcurl could send and receive on it as well, but looks its connection up in the list of all that the multi handle
/// has before each call: with 1000 clients a request cost 1.48 × of nginx's CPU that way and 1.12 × this way
/// (deploy/loadtest/RESULTS.md). To libcurl a connection on which it neither sends nor receives is idle, and is closed
/// after 118 seconds (`CURLOPT_MAXAGE_CONN`) when another is made: so this is another descriptor of the socket, and
/// libcurl keeps none. Results are libcurl's, so that connections with and without TLS can be treated alike.
struct PlainSocket {
    let descriptor: Int32

    /// - Parameter descriptor: of a connected socket that does not block; it stays the caller's.
    /// - Throws: when there is no descriptor left.
    init(sharing descriptor: Int32) throws(CurlFailure) {
        self.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard self.descriptor >= 0 else { throw CurlFailure(kind: .resource, description: "no descriptor") }
    }

    /// - Returns: how many bytes were taken; `CURLE_AGAIN` when none can be now.
    func send(_ bytes: UnsafeRawBufferPointer) -> (result: CURLcode, count: Int) {
        let count = Self.uninterrupted {
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
        return count >= 0 ? (CURLE_OK, count) : (Self.failure(CURLE_SEND_ERROR), 0)
    }

    /// As ``send(_:)``, with as many of `others` behind it as one call takes.
    func send(
        _ bytes: ByteBuffer, before others: [ByteBuffer], by parts: MessageParts
    ) -> (result: CURLcode, count: Int) {
        parts.set(0, to: bytes)
        let used = min(others.count, MessageParts.most - 1)
        for index in 0..<used { parts.set(index + 1, to: others[index]) }
        let count = Self.uninterrupted { parts.send(used + 1, to: descriptor) }
        return count >= 0 ? (CURLE_OK, count) : (Self.failure(CURLE_SEND_ERROR), 0)
    }

    /// - Returns: how many bytes came, none at the end; `CURLE_AGAIN` when none are there yet.
    func receive(into room: UnsafeMutableRawBufferPointer) -> (result: CURLcode, count: Int) {
        let count = Self.uninterrupted { Glibc.recv(descriptor, room.baseAddress, room.count, 0) }
        return count >= 0 ? (CURLE_OK, count) : (Self.failure(CURLE_RECV_ERROR), 0)
    }

    /// Whether nothing at all has come on a socket that does not block: no bytes, no end and no error. It takes
    /// nothing.
    static func isSilent(_ descriptor: Int32) -> Bool {
        var byte = UInt8(0)
        return uninterrupted { Glibc.recv(descriptor, &byte, 1, Int32(MSG_PEEK)) } < 0 && isAgain
    }

    /// Tells the other side that no more comes.
    func shutDownOutput() {
        // It fails when the other side has gone already, which receiving tells.
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        Glibc.close(descriptor)
    }

    /// Breaks a TCP connection off with a reset. Nothing more goes over it in either direction; what was not sent yet,
    /// and what libcurl or OpenSSL would say at the end, is lost.
    ///
    /// To connect to no address is to disconnect (connect(2)), for which Linux sends RST at once. SO_LINGER would do
    /// the same at the close only, and with TLS libcurl sends an orderly end before it closes.
    static func reset(_ descriptor: Int32) {
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        // It fails where the connection has gone already.
        _ = connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    }

    private static func uninterrupted(_ call: () -> Int) -> Int {
        while true {
            let count = call()
            if count >= 0 || errno != EINTR { return count }
        }
    }

    private static func failure(_ code: CURLcode) -> CURLcode { isAgain ? CURLE_AGAIN : code }

    private static var isAgain: Bool { errno == EAGAIN || errno == EWOULDBLOCK }
}
