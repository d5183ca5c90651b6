internal import CCurl
internal import Glibc
package import NIOCore

/// The delegate of a ``CurlConnection``. Called on the event loop, never from within a call into the connection.
package protocol CurlConnectionDelegate: AnyObject {
    func connectionIsUp()
    func connectionFailed(_ failure: CurlFailure)
    /// Bytes or the end may be available: receive until ``CurlConnection/Received/nothingYet``.
    func connectionIsReadable()
    /// A send that accepted nothing may be repeated.
    func connectionIsWritable()
}

/// The server of a connection. libcurl handles the rest (TLS, happy eyeballs).
package struct CurlTarget: Equatable, Sendable {
    /// Scheme, host and port.
    package var url: String
    package var connectTimeout: Duration
    package var access: CurlAccess

    package init(url: String, connectTimeout: Duration, access: CurlAccess = CurlAccess()) {
        self.url = url
        self.connectTimeout = connectTimeout
        self.access = access
    }

    /// Whether the connection uses TLS. libcurl may then hold decrypted bytes for which the socket reports no event.
    var isTLS: Bool { url.hasPrefix("https:") }
}

/// A connection that libcurl establishes (`CURLOPT_CONNECT_ONLY`). With TLS, libcurl also sends and receives.
package final class CurlConnection: CurlTransfer {
    package enum Received {
        case bytes(ByteBuffer)
        case nothingYet
        case end
        case failed(CurlFailure)
    }

    /// The delegate, retained until the connection is closed. A weak reference would slow down every use.
    package var delegate: (any CurlConnectionDelegate)?
    private enum Carrier {
        case connecting(CurlEasy)
        case tls(CurlEasy)
        case plain(PlainSocket)
        case closed
    }

    private var carrier: Carrier
    private let loop: CurlLoop
    private let isTLS: Bool
    /// The watched descriptor; -1 until the connection is established.
    private var socket: Int32 = -1
    /// Whether the socket is known to be empty: the next receive would only return `CURLE_AGAIN`.
    private var isDrained = false
    /// Whether an event was reported that has not been handled yet.
    var hasPendingEvent = false
    /// Whether the end or an error follows the available bytes. It is reported only once.
    private var sawHangUp = false
    /// Bytes that TLS did not accept; nil if there are none. OpenSSL has already made a record of their beginning, so
    /// it must get the same bytes again, at the same address (SSL_write(3)). They are stored here, independently of the
    /// sender's buffer.
    private var refused: ByteBuffer?

    /// Starts to connect; the delegate is notified of the result.
    package init(to target: CurlTarget, on loop: CurlLoop) throws(CurlFailure) {
        self.loop = loop
        self.isTLS = target.isTLS
        let easy = try CurlEasy()
        self.carrier = .closed
        try easy.setCommonOptions(
            url: target.url, allowedSchemes: "http,https", connectTimeout: target.connectTimeout)
        try easy.set(target.access)
        try easy.set(CURLOPT_CONNECT_ONLY, 1)
        try easy.set(CURLOPT_FRESH_CONNECT, 1)
        let needs = CurlNeeds(target.access, url: target.url, connectTimeout: target.connectTimeout)
        try loop.begin(easy, for: self, needs)
        carrier = .connecting(easy)
    }

    deinit {
        close()
    }

    func finished(_ result: CURLcode) {
        guard case .connecting(let easy) = carrier else { return }
        guard result == CURLE_OK else { return fail(CurlFailure(result, of: easy)) }
        do {
            try takeOver(easy)
        } catch {
            return fail(error)
        }
        loop.watch(self, socket: socket)
        delegate?.connectionIsUp()
    }

    private func takeOver(_ easy: CurlEasy) throws(CurlFailure) {
        var active = curl_socket_t(-1)
        guard gatehouse_getinfo_socket(easy.handle, &active) == CURLE_OK, active >= 0 else {
            throw CurlFailure(kind: .connect, description: "no socket")
        }
        if isTLS {
            loop.keep(easy)
            carrier = .tls(easy)
            socket = active
        } else {
            let plain = try PlainSocket(sharing: active)
            // The socket stays open through the duplicate, so it would also stay in the epoll set, under libcurl's
            // descriptor.
            loop.unwatch(socket: active)
            loop.remove(easy)
            carrier = .plain(plain)
            socket = plain.descriptor
        }
    }

    private func fail(_ failure: CurlFailure) {
        let delegate = delegate
        close()
        delegate?.connectionFailed(failure)
    }

    func ready(_ events: UInt32) {
        hasPendingEvent = false
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            isDrained = false
            if events & ~(EPOLLIN.rawValue | EPOLLOUT.rawValue) != 0 { sawHangUp = true }
            delegate?.connectionIsReadable()
        }
        if events & EPOLLOUT.rawValue != 0 { delegate?.connectionIsWritable() }
    }

    /// Sends bytes with one system call.
    ///
    /// - Parameter others: the buffers after `bytes`. With TLS, none of them is sent, since it makes its own records.
    /// - Returns: the number of bytes accepted. After 0, ``CurlConnectionDelegate/connectionIsWritable()`` is called,
    ///   and the same bytes must then be sent again, with or without others after them.
    package func send(_ bytes: ByteBuffer, before others: [ByteBuffer] = []) throws(CurlFailure) -> Int {
        let offered = refused ?? bytes
        let (result, sent) =
            switch carrier {
            case .plain(let socket) where !others.isEmpty: socket.send(bytes, before: others, by: loop.parts)
            case .plain(let socket): offered.withUnsafeReadableBytes { socket.send($0) }
            case .tls(let easy): offered.withUnsafeReadableBytes { easy.send($0) }
            case .connecting, .closed: (CURLE_SEND_ERROR, 0)
            }
        if result == CURLE_AGAIN {
            if isTLS { refused = offered }
            return 0
        }
        refused = nil
        // The peer may have sent bytes before it closed; they are received even without an event.
        if result != CURLE_OK { isDrained = false }
        try result.check()
        return sent
    }

    /// Receives available bytes, at most 64 KiB per call.
    package func receive() -> Received {
        if isDrained { return .nothingYet }
        let (result, count, bytes) = loop.receive { room in
            switch carrier {
            case .plain(let socket): socket.receive(into: room)
            case .tls(let easy): easy.receive(into: room)
            case .connecting: (CURLE_AGAIN, 0)
            case .closed: (CURLE_OK, 0)
            }
        }
        if result == CURLE_AGAIN {
            isDrained = true
            return .nothingYet
        }
        guard result == CURLE_OK else { return .failed(CurlFailure(result)) }
        guard count > 0 else { return .end }
        // A short read shows that a plain socket is empty, and epoll reports later bytes. Epoll does not know of bytes
        // that TLS has already decrypted.
        if !isTLS, !sawHangUp, count < CurlLoop.receiveSize { isDrained = true }
        return .bytes(bytes)
    }

    /// Receives before a request is sent: any result except ``Received/nothingYet`` cannot belong to that request.
    ///
    /// Queries the socket unless the loop has just polled, since the last event may be older than the last bytes.
    package func look() -> Received {
        if loop.hasJustPolled, !hasPendingEvent { return .nothingYet }
        if socket >= 0, PlainSocket.isSilent(socket) { return .nothingYet }
        // With TLS the bytes may not be HTTP, such as a session ticket.
        isDrained = false
        return receive()
    }

    /// Closes the output; the peer may still send. With TLS, libcurl can only close the whole connection, so this has
    /// no effect.
    package func shutDownOutput() {
        if case .plain(let socket) = carrier { socket.shutDownOutput() }
    }

    /// Closes the connection with a reset (RFC 9293 §3.5.2), so that the peer cannot take a partial message for a
    /// complete one.
    package func reset() {
        if socket >= 0 { PlainSocket.reset(socket) }
        close()
    }

    package func close() {
        let carrier = carrier
        self.carrier = .closed
        isDrained = false
        delegate = nil
        if socket >= 0 { loop.unwatch(socket: socket) }
        socket = -1
        switch carrier {
        case .connecting(let easy), .tls(let easy): loop.remove(easy)
        case .plain(let socket): socket.close()
        case .closed: break
        }
    }
}
