internal import CCurl
internal import Glibc
package import NIOCore

/// Hears what happens on a ``CurlConnection``. Called on the event loop, never from within a call into the connection.
package protocol CurlConnectionDelegate: AnyObject {
    func connectionIsUp()
    func connectionFailed(_ failure: CurlFailure)
    /// Bytes, or the end, may be there: receive until nothing comes.
    func connectionIsReadable()
    /// A send that accepted nothing may be tried again.
    func connectionIsWritable()
}

/// What a connection is made to. The rest (name resolution, TLS, happy eyeballs) is libcurl's.
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

    /// Whether libcurl may hold decrypted bytes that the socket no longer announces.
    var isTLS: Bool { url.hasPrefix("https:") }
}

/// One connection that libcurl makes (`CURLOPT_CONNECT_ONLY`) and carries bytes on, for its whole life.
package final class CurlConnection: CurlTransfer {
    package enum Received {
        case bytes(ByteBuffer)
        case nothingYet
        case end
        case failed(CurlFailure)
    }

    /// Held until the connection is closed. A weak reference would make every use of the delegate slower.
    package var delegate: (any CurlConnectionDelegate)?
    let easy: CurlEasy
    private let loop: CurlLoop
    private let isTLS: Bool
    private var socket: Int32 = -1
    private var isOpen = true
    /// Set when the socket is known to be empty: the next receive would only say "again".
    private var isDrained = false
    /// The end, or an error, waits behind the bytes that are there, and is announced only once.
    private var sawHangUp = false
    /// What TLS did not take. A record has been made of its beginning already, so OpenSSL wants the very same bytes
    /// again, at the same place in memory (SSL_write(3)): held here, whatever becomes of the sender's own buffer.
    private var refused: ByteBuffer?

    /// libcurl caps a receive at its buffer's size, by default this many bytes: fewer were all there were,
    /// whatever was asked for.
    private static let shortReceive = 16 << 10

    /// Starts to connect; the delegate hears how it went.
    package init(to target: CurlTarget, on loop: CurlLoop) throws(CurlFailure) {
        self.loop = loop
        self.isTLS = target.isTLS
        easy = try CurlEasy()
        try easy.setCommonOptions(
            url: target.url, allowedSchemes: "http,https", connectTimeout: target.connectTimeout)
        try easy.set(target.access)
        try easy.set(CURLOPT_CONNECT_ONLY, 1)
        try easy.set(CURLOPT_FRESH_CONNECT, 1)
        try easy.set(CURLOPT_BUFFERSIZE, CurlLoop.receiveSize)
        try loop.add(self)
    }

    deinit {
        close()
    }

    func finished(_ result: CURLcode) {
        guard isOpen else { return }
        guard result == CURLE_OK else { return fail(CurlFailure(result)) }
        var active = curl_socket_t(-1)
        guard gatehouse_getinfo_socket(easy.handle, &active) == CURLE_OK, active >= 0 else {
            return fail(CurlFailure(kind: .connect, description: "no socket"))
        }
        loop.keepHandle(of: self)
        socket = active
        loop.watch(self, socket: socket)
        delegate?.connectionIsUp()
    }

    private func fail(_ failure: CurlFailure) {
        let delegate = delegate
        close()
        delegate?.connectionFailed(failure)
    }

    func ready(_ events: UInt32) {
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            isDrained = false
            if events & ~(EPOLLIN.rawValue | EPOLLOUT.rawValue) != 0 { sawHangUp = true }
            delegate?.connectionIsReadable()
        }
        if isOpen, events & EPOLLOUT.rawValue != 0 { delegate?.connectionIsWritable() }
    }

    /// Hands bytes to libcurl.
    ///
    /// - Returns: how many were taken; none means that ``CurlConnectionDelegate/connectionIsWritable()`` will be
    ///   called, and that the same bytes must then be sent again, with or without others behind them.
    package func send(_ bytes: ByteBuffer) throws(CurlFailure) -> Int {
        guard isOpen else { throw CurlFailure(CURLE_SEND_ERROR) }
        var sent = 0
        let offered = refused ?? bytes
        let result = offered.withUnsafeReadableBytes { bytes in
            curl_easy_send(easy.handle, bytes.baseAddress, bytes.count, &sent)
        }
        if result == CURLE_AGAIN {
            if isTLS { refused = offered }
            return 0
        }
        refused = nil
        // What the other side said before it closed is to be looked for, announced or not.
        if result != CURLE_OK { isDrained = false }
        try result.check()
        return sent
    }

    /// Takes what has arrived, at most 64 KiB a call.
    package func receive() -> Received {
        guard isOpen else { return .end }
        if isDrained { return .nothingYet }
        let (result, count, bytes) = loop.receive(from: easy)
        if result == CURLE_AGAIN {
            isDrained = true
            return .nothingYet
        }
        guard result == CURLE_OK else { return .failed(CurlFailure(result)) }
        guard count > 0 else { return .end }
        // A short read of a plain socket has emptied it, and epoll tells of what comes later. What TLS has
        // decrypted ahead, epoll does not know of.
        if !isTLS, !sawHangUp, count < Self.shortReceive { isDrained = true }
        return .bytes(bytes)
    }

    /// As ``receive()``, but asks the socket even if nothing has been announced.
    package func receiveNow() -> Received {
        isDrained = false
        return receive()
    }

    /// Tells the other side that no more comes, while it may go on. TLS over libcurl ends only as a whole: there this
    /// does nothing.
    package func shutDownOutput() {
        guard isOpen, !isTLS, socket >= 0 else { return }
        // It fails when the other side has gone already, which receiving tells.
        _ = shutdown(socket, Int32(SHUT_WR))
    }

    package func close() {
        guard isOpen else { return }
        isOpen = false
        delegate = nil
        if socket >= 0 {
            loop.unwatch(socket: socket)
            loop.removeHandle(easy)
        } else {
            loop.remove(self)
        }
    }
}
