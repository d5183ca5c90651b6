internal import CNghttp2
package import NIOCore

/// The server side of one HTTP/2 connection, implemented by libnghttp2: bytes in, frames out. It has no socket and no
/// clock.
///
/// If a client violates the framing rules of RFC 9113, its stream or connection is ended here. The receiver decides
/// about requests.
package final class HTTP2Session {
    private let session: OpaquePointer
    private let memory = HTTP2SessionMemory()
    private unowned let receiver: any HTTP2SessionReceiver
    /// Its methods call nothing that could come back to the session. ``takeOutput(_:)`` empties it first.
    @exclusivity(unchecked) private var output: HTTP2Output
    /// The buffer passed to `receive(sharing:)`; nil outside that call.
    private var input: (buffer: ByteBuffer, start: UnsafeRawPointer)?
    /// Whether DATA frames wait for the next call of ``produce()``.
    private var holdsBodies = false
    /// The size of the output, in bytes, from which DATA frames wait.
    private static let mostOutput = 64 << 10
    /// Whether the session has ended: it receives nothing more, and sends only what is already written.
    package var hasFailed: Bool { isFailed }
    /// Private, like ``latest``: exclusive access to a property that other modules read is checked at each use.
    private var isFailed = false
    /// The highest identifier of an accepted stream.
    package var lastStream: Int32 { latest }
    private var latest: Int32 = 0

    /// libnghttp2 could not allocate a session.
    package struct CreationError: Error {}

    /// - Parameter leastPart: the size from which body parts are sent without being copied; see ``HTTP2Output``.
    package init(_ limits: HTTP2SessionLimits, leastPart: Int, receiver: any HTTP2SessionReceiver) throws {
        self.receiver = receiver
        output = HTTP2Output(leastPart: leastPart)
        var made: OpaquePointer?
        var functions = memory.functions
        let status = limits.withOptions { options in
            nghttp2_session_server_new3(&made, HTTP2Callbacks.shared.pointer, nil, options, &functions)
        }
        memory.sessionIsMade()
        guard status == 0, let made else { throw CreationError() }
        session = made
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let announced = limits.announced
        guard nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), announced, announced.count) == 0,
            nghttp2_session_set_local_window_size(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(clamping: limits.connectionWindow)) == 0
        else { throw CreationError() }
    }

    deinit {
        nghttp2_session_del(session)
    }

    // MARK: In

    /// Processes bytes of the client's.
    ///
    /// - Returns: the error with which the connection must end, by a call of ``fail(_:)``; nil if there is none.
    package func receive(_ bytes: ByteBuffer) -> HTTP2Error? {
        guard !isFailed else { return nil }
        let status = bytes.withUnsafeReadableBytes { bytes -> Int in
            guard let start = bytes.baseAddress else { return 0 }
            return nghttp2_session_mem_recv(session, start.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return status < 0 ? HTTP2Error(libraryError: status) : nil
    }

    /// As ``receive(_:)``, but body parts that are not small are slices of `bytes`. A receiver that keeps one beyond
    /// the turn must copy it.
    package func receive(sharing bytes: ByteBuffer) -> HTTP2Error? {
        guard let start = bytes.withUnsafeReadableBytes({ $0.baseAddress }) else { return nil }
        input = (bytes, start)
        defer { input = nil }
        return receive(bytes)
    }

    fileprivate func took(stream: Int32) {
        latest = max(latest, stream)
        // Streams take turns. By default the oldest one has precedence (RFC 9218 §10), so that an endless response
        // would block all later ones.
        var priority = nghttp2_extpri()
        priority.urgency = UInt32(NGHTTP2_EXTPRI_DEFAULT_URGENCY)
        priority.inc = 1
        nghttp2_session_change_extpri_stream_priority(session, stream, &priority, 1)
    }

    fileprivate func receiveBody(_ stream: Int32, _ bytes: UnsafeRawBufferPointer) {
        receiver.body(stream, part(bytes))
        // The connection's window limits bytes in transit; a stream's limits bytes that wait here.
        nghttp2_session_consume_connection(session, bytes.count)
    }

    /// Body parts below this size, in bytes, are copied: stored slices of many reads would retain the memory of all of
    /// them.
    private static let leastSlice = 4 << 10

    private func part(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        if let input, let start = bytes.baseAddress, bytes.count >= Self.leastSlice,
            let slice = input.buffer.getSlice(at: input.buffer.readerIndex + (start - input.start), length: bytes.count)
        {
            return slice
        }
        var part = ByteBufferAllocator().buffer(capacity: bytes.count)
        part.writeBytes(bytes)
        return part
    }

    /// Extends a stream's window by `count` bytes.
    package func consumed(_ count: Int, of stream: Int32) {
        guard !isFailed, count > 0 else { return }
        nghttp2_session_consume_stream(session, stream, count)
    }

    // MARK: Out

    /// Sends the head of an interim response.
    package func sendInterim(_ stream: Int32, _ fields: HTTP2FieldList) {
        guard !isFailed else { return }
        _ = fields.withFields { list, count in
            nghttp2_submit_headers(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, nil, list, count, nil)
        }
    }

    /// Sends the response's head, which ends the stream.
    package func sendWhole(_ stream: Int32, _ fields: HTTP2FieldList) {
        guard !isFailed else { return }
        _ = fields.withFields { list, count in nghttp2_submit_response(session, stream, list, count, nil) }
    }

    /// Sends the response's head; the receiver supplies the body.
    package func send(_ stream: Int32, _ fields: HTTP2FieldList) {
        guard !isFailed else { return }
        var source = nghttp2_data_provider()
        source.read_callback = HTTP2Callbacks.readBody
        _ = fields.withFields { list, count in nghttp2_submit_response(session, stream, list, count, &source) }
    }

    /// Ends a response with trailers.
    package func sendTrailers(_ stream: Int32, _ fields: HTTP2FieldList) {
        guard !isFailed else { return }
        _ = fields.withFields { list, count in nghttp2_submit_trailer(session, stream, list, count) }
    }

    /// Resumes a body, after the receiver had no part available.
    package func resume(_ stream: Int32) {
        guard !isFailed else { return }
        nghttp2_session_resume_data(session, stream)
    }

    package func reset(_ stream: Int32, _ error: HTTP2Error) {
        guard !isFailed else { return }
        nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, error.code)
    }

    package func ping(_ payload: UInt64) {
        guard !isFailed else { return }
        withUnsafeBytes(of: payload.bigEndian) { bytes in
            _ = nghttp2_submit_ping(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), bytes.bindMemory(to: UInt8.self).baseAddress)
        }
    }

    /// Announces the connection's end without refusing any stream yet (RFC 9113 §6.8).
    package func announceEnd() {
        guard !isFailed else { return }
        nghttp2_submit_shutdown_notice(session)
    }

    /// Refuses all further streams of the client.
    package func refuseMore() {
        guard !isFailed else { return }
        nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), latest, HTTP2Error.noError.code, nil, 0)
    }

    /// Ends the connection with GOAWAY as the last frame.
    ///
    /// The frame is written here and not by libnghttp2, which must not be used after some of its errors.
    package func fail(_ error: HTTP2Error) {
        guard !isFailed else { return }
        isFailed = true
        var frame = ByteBuffer()
        frame.writeInteger(UInt32(8) << 8 | NGHTTP2_GOAWAY.rawValue)
        frame.writeInteger(UInt8(0))
        frame.writeInteger(UInt32(0))
        frame.writeInteger(latest)
        frame.writeInteger(error.code)
        frame.withUnsafeReadableBytes { output.write($0) }
        receiver.goAwayWasWritten(code: error.code)
    }

    /// Writes all pending frames except DATA.
    package func produceControl() {
        holdsBodies = true
        produce()
        holdsBodies = false
    }

    /// Writes all pending frames. DATA pauses once the output has 64 KiB.
    package func produce() {
        while !isFailed {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count >= 0 else { return fail(.internalError) }
            guard count > 0 else { return }
            output.write(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// Returns the memory to the system that no frame and no stream uses.
    package func releaseIdleMemory() {
        guard !isFailed, nghttp2_session_want_write(session) == 0 else { return }
        memory.releaseIdleMemory()
    }

    /// Whether libnghttp2's largest blocks are memory-mapped; see ``HTTP2SessionMemory``. For tests.
    package var isMapped: Bool { memory.isMapped }

    package var outputBytes: Int { output.count }
    /// Whether DATA frames wait until the output has been taken.
    package var outputIsFull: Bool { output.count >= Self.mostOutput }

    /// Passes the written frames to `body`.
    package func takeOutput(_ body: (ByteBuffer) -> Void) {
        var taken = HTTP2Output(leastPart: output.leastPart)
        swap(&taken, &output)
        taken.take(body)
    }

    fileprivate var hasRoom: Bool { !holdsBodies && !outputIsFull }

    fileprivate func writeData(_ header: UnsafeRawBufferPointer, _ stream: Int32, _ count: Int) {
        output.write(header)
        var left = count
        while left > 0 {
            let part = receiver.takeBody(stream, atMost: left)
            precondition(part.readableBytes > 0 && part.readableBytes <= left, "as much as was announced")
            output.write(part)
            left -= part.readableBytes
        }
        receiver.dataWasWritten(stream, count)
    }

    fileprivate var events: any HTTP2SessionReceiver { receiver }
}

/// The callbacks of libnghttp2, shared by all sessions.
private struct HTTP2Callbacks: @unchecked Sendable {
    /// The callbacks; immutable after creation, and copied by each session. Nil if they could not be allocated.
    let pointer: OpaquePointer?

    static let shared = HTTP2Callbacks()

    private init() {
        var made: OpaquePointer?
        guard nghttp2_session_callbacks_new(&made) == 0, let callbacks = made else {
            pointer = nil
            return
        }
        pointer = callbacks
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, user in
            guard let frame else { return 0 }
            let stream = frame.pointee.hd.stream_id
            let areTrailers = frame.pointee.headers.cat != NGHTTP2_HCAT_REQUEST
            HTTP2Callbacks.with(user) { session in
                if !areTrailers { session.took(stream: stream) }
                session.events.headBegins(stream, areTrailers: areTrailers)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) { _, _, name, nameLength, value, length, _, user in
            let mayGoOn = HTTP2Callbacks.with(user) { session in
                session.events.field(
                    UnsafeRawBufferPointer(start: name, count: nameLength),
                    UnsafeRawBufferPointer(start: value, count: length))
            }
            return mayGoOn ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            guard let frame else { return 0 }
            HTTP2Callbacks.with(user) { HTTP2Callbacks.received(frame, $0) }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, user in
            HTTP2Callbacks.with(user) { $0.receiveBody(stream, UnsafeRawBufferPointer(start: bytes, count: count)) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, user in
            HTTP2Callbacks.with(user) { $0.events.streamCloses(stream) }
            return 0
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, frame, header, count, _, user in
            guard let frame else { return 0 }
            HTTP2Callbacks.with(user) { session in
                session.writeData(UnsafeRawBufferPointer(start: header, count: 9), frame.pointee.hd.stream_id, count)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, user in
            guard let frame else { return 0 }
            HTTP2Callbacks.with(user) { HTTP2Callbacks.sent(frame, $0) }
            return 0
        }
    }

    /// Calls `body` without retaining the session, which is in one of its methods, and is retained by its caller.
    @inline(__always)
    private static func with<Result>(_ user: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Result) -> Result {
        guard let user else { preconditionFailure("the session is its own user data") }
        return Unmanaged<HTTP2Session>.fromOpaque(user)._withUnsafeGuaranteedRef(body)
    }

    private static func received(_ frame: UnsafePointer<nghttp2_frame>, _ session: HTTP2Session) {
        let header = frame.pointee.hd
        let endStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue:
            let isEmpty = header.length == frame.pointee.data.padlen
            session.events.dataEnds(header.stream_id, isEmpty: isEmpty, endStream: endStream)
        case NGHTTP2_HEADERS.rawValue:
            session.events.headEnds(header.stream_id, endStream: endStream)
        case NGHTTP2_RST_STREAM.rawValue:
            session.events.wasReset(header.stream_id, code: frame.pointee.rst_stream.error_code)
        case NGHTTP2_PING.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
            let payload = withUnsafeBytes(of: frame.pointee.ping.opaque_data) { $0.loadUnaligned(as: UInt64.self) }
            session.events.pingCameBack(UInt64(bigEndian: payload))
        default:
            break
        }
    }

    private static func sent(_ frame: UnsafePointer<nghttp2_frame>, _ session: HTTP2Session) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue:
            if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                session.events.endWasWritten(header.stream_id)
            }
        case NGHTTP2_RST_STREAM.rawValue:
            session.events.resetWasWritten(header.stream_id, code: frame.pointee.rst_stream.error_code)
        case NGHTTP2_GOAWAY.rawValue:
            session.events.goAwayWasWritten(code: frame.pointee.goaway.error_code)
        default:
            break
        }
    }

    static let readBody: nghttp2_data_source_read_callback = { _, stream, _, most, flags, _, user in
        guard let flags else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        return with(user) { session in
            guard session.hasRoom else { return Int(NGHTTP2_ERR_PAUSE.rawValue) }
            guard let step = session.events.nextBody(stream, atMost: most) else {
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            }
            flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
            if step.next != .body { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            if step.next == .other { flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue }
            return step.count
        }
    }
}
