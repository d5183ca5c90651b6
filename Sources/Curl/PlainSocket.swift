internal import CCurl
internal import Glibc
internal import NIOCore
internal import Sockets

/// The socket of a connection without TLS, taken over from libcurl after it has connected.
///
/// libcurl could also send and receive on it, but searches the list of the multi handle's connections before each call:
/// with 1000 clients, a request cost 1.48 × nginx's CPU that way, and 1.12 × this way (deploy/loadtest/RESULTS.md).
/// libcurl considers a connection idle if it does not send or receive on it itself, and closes it after 118 seconds
/// (`CURLOPT_MAXAGE_CONN`) when another one is made. Therefore this is a duplicate descriptor, and libcurl keeps none.
/// Results are libcurl's, so that connections with and without TLS can be treated alike.
struct PlainSocket {
    let descriptor: Int32

    /// - Parameter descriptor: the descriptor of a connected non-blocking socket; the caller still owns it.
    /// - Throws: ``CurlFailure`` if no descriptor is left.
    init(sharing descriptor: Int32) throws(CurlFailure) {
        self.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard self.descriptor >= 0 else { throw CurlFailure(kind: .resource, description: "no descriptor") }
    }

    /// - Returns: the number of bytes sent; `CURLE_AGAIN` if none can be sent now.
    func send(_ bytes: UnsafeRawBufferPointer) -> (result: CURLcode, count: Int) {
        let count = Self.uninterrupted {
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
        return count >= 0 ? (CURLE_OK, count) : (Self.failure(CURLE_SEND_ERROR), 0)
    }

    /// As ``send(_:)``, followed by `others`, up to the limit of one system call.
    func send(
        _ bytes: ByteBuffer, before others: [ByteBuffer], by parts: IOVectors
    ) -> (result: CURLcode, count: Int) {
        parts.set(0, to: bytes)
        let used = min(others.count, IOVectors.most - 1)
        for index in 0..<used { parts.set(index + 1, to: others[index]) }
        let count = Self.uninterrupted { parts.send(used + 1, to: descriptor) }
        return count >= 0 ? (CURLE_OK, count) : (Self.failure(CURLE_SEND_ERROR), 0)
    }

    /// - Returns: the number of bytes, 0 at the end; `CURLE_AGAIN` if none are available yet.
    func receive(into room: UnsafeMutableRawBufferPointer) -> (result: CURLcode, count: Int) {
        let count = Self.uninterrupted { Glibc.recv(descriptor, room.baseAddress, room.count, 0) }
        return count >= 0 ? (CURLE_OK, count) : (Self.failure(CURLE_RECV_ERROR), 0)
    }

    /// Returns whether a non-blocking socket has neither bytes nor end nor error to report. It consumes nothing.
    static func isSilent(_ descriptor: Int32) -> Bool {
        var byte = UInt8(0)
        return uninterrupted { Glibc.recv(descriptor, &byte, 1, Int32(MSG_PEEK)) } < 0 && isAgain
    }

    /// Closes the output of the connection.
    func shutDownOutput() {
        // It fails if the peer has already disconnected, which the next receive reports.
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        Glibc.close(descriptor)
    }

    /// Aborts a TCP connection with a reset. Nothing more is transferred in either direction; unsent bytes, and the
    /// closing messages of libcurl or OpenSSL, are lost.
    ///
    /// Connecting to AF_UNSPEC disconnects a socket (connect(2)), and Linux sends RST at once. SO_LINGER would have
    /// that effect only at the close, and with TLS libcurl sends a close_notify before it closes.
    static func reset(_ descriptor: Int32) {
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        // It fails if the connection has already ended.
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
