internal import CBoringSSL
package import NIOCore
package import Sockets

/// The server side of one TLS connection, implemented by BoringSSL: records in and out. It has no socket and no clock.
///
/// swift-nio-ssl brings BoringSSL along, but its own handler keeps 45 KiB of buffers and 4.5 KiB of other objects for
/// each connection, idle or not. A session keeps neither: decrypted bytes go to buffers that the connections of a loop
/// share, and encrypted ones to buffers of their own. The C module that it uses is not among that package's products, so
/// an update of the package, which `Package.swift` names in one exact version, may break this module's build.
package final class TLSServerSession {
    private let ssl: OpaquePointer
    private let context: TLSServerContext
    /// Received bytes that BoringSSL has not taken yet.
    private var input = ByteBuffer()
    /// Records that wait for ``takeOutput()``.
    private var output = ByteBuffer()

    /// BoringSSL could not allocate a connection.
    package struct CreationError: Error {}

    package init(_ context: TLSServerContext) throws(CreationError) {
        self.context = context
        guard let ssl = SSL_new(context.pointer) else { throw CreationError() }
        self.ssl = ssl
        guard let transport = BIO_new(SessionTransport.shared.method) else { throw CreationError() }
        BIO_set_data(transport, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(transport, 1)
        // One reference for both directions.
        SSL_set_bio(ssl, transport, transport)
        SSL_set_accept_state(ssl)
        // The settings that only a handshake needs are freed after it.
        SSL_set_shed_handshake_config(ssl, 1)
    }

    deinit { SSL_free(ssl) }

    // MARK: In

    /// Takes bytes of the client's, for ``handshake()`` or ``decrypt(by:)`` to process.
    package func receive(_ bytes: ByteBuffer) {
        guard input.readableBytes > 0 else {
            input = bytes
            return
        }
        var bytes = bytes
        input.writeBuffer(&bytes)
    }

    /// The number of received bytes that were not processed.
    package var unprocessedBytes: Int { input.readableBytes }

    /// Drops bytes that were received and not processed.
    package func dropInput() { input = ByteBuffer() }

    package enum HandshakeStep { case needsInput, completed, failed }

    /// Goes on with the handshake. Its records, or the alert of a failure, are in the output.
    package func handshake() -> HandshakeStep {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        guard result != 1 else { return .completed }
        return SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ ? .needsInput : .failed
    }

    package enum ReadEnd {
        case needsInput
        /// There may be more.
        case bufferIsFull
        /// The client has sent close_notify.
        case closed
        /// A record was refused. Its alert is in the output.
        case failed
    }

    /// Decrypts received records.
    ///
    /// - Parameter buffers: other than those with the received bytes.
    package func decrypt(by buffers: ReceiveBuffers) -> (bytes: ByteBuffer, end: ReadEnd) {
        var end = ReadEnd.bufferIsFull
        let (_, bytes) = buffers.receive(.least(for: input.readableBytes + Int(SSL_pending(ssl)))) { room in
            var count = 0
            while count < room.count {
                ERR_clear_error()
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
                let result = SSL_read(ssl, rest.baseAddress, Int32(clamping: rest.count))
                guard result <= 0 else {
                    count += Int(result)
                    continue
                }
                end =
                    switch SSL_get_error(ssl, result) {
                    case SSL_ERROR_WANT_READ: .needsInput
                    case SSL_ERROR_ZERO_RETURN: .closed
                    default: .failed
                    }
                break
            }
            return count
        }
        return (bytes, end)
    }

    // MARK: Out

    /// Encrypts bytes.
    ///
    /// - Returns: the records, after those that waited; nil if the connection has failed.
    package func encrypt(_ bytes: ByteBuffer) -> ByteBuffer? {
        if output.readableBytes == 0 {
            let records = bytes.readableBytes / Int(SSL3_RT_MAX_PLAIN_LENGTH) + 1
            output = ByteBufferAllocator().buffer(
                capacity: bytes.readableBytes + records * SSL_max_seal_overhead(ssl))
        }
        let isDone = bytes.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                ERR_clear_error()
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let result = SSL_write(ssl, part.baseAddress, Int32(clamping: part.count))
                guard result > 0 else { return false }
                rest = rest.dropFirst(Int(result))
            }
            return true
        }
        return isDone ? takeOutput() : nil
    }

    /// Puts a close_notify into the output.
    package func shutDown() {
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
    }

    /// Returns the records that wait; nil if there are none.
    package func takeOutput() -> ByteBuffer? {
        guard output.readableBytes > 0 else { return nil }
        var taken = ByteBuffer()
        swap(&taken, &output)
        return taken
    }

    // MARK: The handshake's results

    /// The protocol that ALPN has selected; nil if none.
    package var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    package var isTLS13: Bool { Int32(SSL_version(ssl)) == TLS1_3_VERSION }

    // MARK: BoringSSL's transport

    /// - Returns: the number of bytes; 0 if there are none.
    fileprivate func fill(_ room: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(room.count, input.readableBytes)
        guard count > 0 else { return 0 }
        input.readWithUnsafeReadableBytes { bytes in
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
            return count
        }
        // The buffer is the loop's.
        if input.readableBytes == 0 { input = ByteBuffer() }
        return count
    }

    fileprivate func append(_ bytes: UnsafeRawBufferPointer) { output.writeBytes(bytes) }
}

/// The functions by which BoringSSL reads and writes a session's records.
private struct SessionTransport: @unchecked Sendable {
    static let shared = SessionTransport()
    /// A `BIO_METHOD`, which never changes once it is made.
    let method: OpaquePointer

    init() {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "TLSServerSession") else {
            preconditionFailure("out of memory")
        }
        BIO_meth_set_read(method) { transport, room, count in
            BIO_clear_retry_flags(transport)
            let room = UnsafeMutableRawBufferPointer(start: room, count: Int(count))
            let filled = SessionTransport.session(of: transport).fill(room)
            guard filled > 0 else {
                BIO_set_retry_read(transport)
                return -1
            }
            return Int32(filled)
        }
        BIO_meth_set_write(method) { transport, bytes, count in
            BIO_clear_retry_flags(transport)
            SessionTransport.session(of: transport).append(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        // Writes are complete as soon as they are made.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        self.method = method
    }

    private static func session(of transport: OpaquePointer?) -> TLSServerSession {
        guard let data = BIO_get_data(transport) else { preconditionFailure("set with the session") }
        return Unmanaged.fromOpaque(data).takeUnretainedValue()
    }
}
