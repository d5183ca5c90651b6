internal import CCurl
internal import Glibc
package import NIOCore
package import Sockets

/// libcurl on one event loop: a multi handle, the epoll set of its sockets, and its timer.
///
/// The `CONNECT_ONLY` easy handle of a TLS connection stays in its multi handle for the connection's life. Everything
/// here is used only on the loop's thread; nothing blocks.
package final class CurlLoop: ReadinessHandler, EndOfTurnWork {
    private let loop: SocketEventLoop
    package var eventLoop: any EventLoop { loop }
    var parts: IOVectors { loop.parts }
    private let multi: UnsafeMutableRawPointer
    private let set: Int32
    private var timer: Scheduled<Void>?
    private var look: Scheduled<Void>?
    private static let timeBetweenLooks = TimeAmount.milliseconds(200)
    private var awaitsEndOfTurn = false
    private var isClosed = false
    /// The established connections, by descriptor.
    private var connections: [Int32: CurlConnection] = [:]
    private var transfers: [UnsafeMutableRawPointer: any CurlTransfer] = [:]
    private lazy var preparations = CurlPreparations(self)
    /// The senders to call at the end of this turn; `spareSenders` is an empty list for the next one.
    private var senders: [any EndOfTurnSender] = []
    private var spareSenders: [any EndOfTurnSender] = []
    /// Whether all sockets have just been polled, so that each connection's `hasPendingEvent` shows whether bytes have
    /// arrived.
    private(set) var hasJustPolled = false
    private var events = [epoll_event](repeating: epoll_event(), count: 256)
    /// The range of `events` that have not been handled.
    private var unhandled = 0..<0
    private var turnIsScheduled = false
    /// The longest time spent on transfers' events in a turn. Many TLS handshakes may be ready at once, each of which
    /// takes milliseconds; after this time, clients get their turn.
    private static let longestTurn = TimeAmount.milliseconds(10)
    /// The buffer for every receive on this loop; see ``CurlConnection/receive()``.
    private var scratch: ByteBuffer

    /// - Precondition: on `eventLoop`.
    package init(eventLoop: SocketEventLoop) throws(CurlFailure) {
        eventLoop.preconditionInEventLoop()
        CurlGlobal.start()
        guard let multi = curl_multi_init() else { throw CurlFailure(kind: .resource, description: "no multi") }
        self.loop = eventLoop
        self.multi = multi
        self.set = epoll_create1(Int32(EPOLL_CLOEXEC))
        self.scratch = ByteBufferAllocator().buffer(capacity: Self.receiveSize)
        guard set >= 0 else {
            curl_multi_cleanup(multi)
            throw CurlFailure(kind: .resource, description: "no epoll set")
        }
        do {
            try installCallbacks()
            try eventLoop.watch(set, for: .readable, self)
        } catch {
            isClosed = true
            Glibc.close(set)
            curl_multi_cleanup(multi)
            throw CurlFailure(kind: .resource, description: "no event loop for libcurl: \(error)")
        }
    }

    static let receiveSize = 64 << 10

    /// Receives once, at most ``receiveSize`` bytes.
    ///
    /// - Parameter take: fills the buffer from a connection, and returns the number of bytes.
    /// - Returns: libcurl's result, the number of bytes, and the bytes.
    func receive(
        _ take: (UnsafeMutableRawBufferPointer) -> (result: CURLcode, count: Int)
    ) -> (result: CURLcode, count: Int, bytes: ByteBuffer) {
        var bytes = ByteBuffer()
        swap(&bytes, &scratch)
        bytes.clear(minimumCapacity: Self.receiveSize)
        var result = CURLE_OK
        let count = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.receiveSize) { room in
            let taken = take(UnsafeMutableRawBufferPointer(rebasing: room.prefix(Self.receiveSize)))
            result = taken.result
            return taken.count
        }
        scratch = bytes
        return (result, count, bytes)
    }

    private func installCallbacks() throws(CurlFailure) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try gatehouse_multi_setopt_socket(
            multi,
            { _, socket, action, context, _ in
                if let context {
                    Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().watch(socket, action: action)
                }
                return 0
            }, context
        ).check()
        try gatehouse_multi_setopt_timer(
            multi,
            { _, milliseconds, context in
                if let context {
                    Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds)
                }
                return 0
            }, context
        ).check()
    }

    /// Closes all connections without notifying their owners, ends all transfers with a failure, and frees libcurl's
    /// handles.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        timer?.cancel()
        look?.cancel()
        senders.removeAll()
        preparations.close()
        for transfer in Array(transfers.values) { transfer.finished(CURLE_ABORTED_BY_CALLBACK) }
        for connection in Array(connections.values) { connection.close() }
        loop.unwatch(set)
        Glibc.close(set)
        curl_multi_cleanup(multi)
    }

    deinit {
        precondition(isClosed, "a CurlLoop is closed before it is let go")
    }

    // MARK: Transfers

    /// Begins a transfer with libcurl once its prerequisites are available; it lasts until ``remove(_:)``. `transfer`
    /// is notified when it is done.
    func begin(_ easy: CurlEasy, for transfer: any CurlTransfer, _ needs: CurlNeeds) throws(CurlFailure) {
        guard !isClosed else { throw CurlFailure(kind: .cancelled, description: "shutting down") }
        try preparations.begin(easy, for: transfer, needs)
    }

    /// Adds a prepared transfer to libcurl. Only for ``CurlPreparations``; others use ``begin(_:for:_:)``.
    func add(_ easy: CurlEasy, for transfer: any CurlTransfer) throws(CurlFailure) {
        guard !isClosed else { throw CurlFailure(kind: .cancelled, description: "shutting down") }
        try curl_multi_add_handle(multi, easy.handle).check()
        transfers[easy.handle] = transfer
        scheduleLook()
    }

    /// Ends the transfer of `easy`, and closes its connection unless other transfers may use it.
    func remove(_ easy: CurlEasy) {
        if preparations.remove(easy) { return }
        transfers[easy.handle] = nil
        curl_multi_remove_handle(multi, easy.handle)
    }

    /// Removes a finished transfer whose handle stays in use: an established connection.
    func keep(_ easy: CurlEasy) {
        transfers[easy.handle] = nil
    }

    // MARK: Sockets

    /// Watches `socket` for libcurl, while it resolves, connects or transfers.
    private func watch(_ socket: curl_socket_t, action: Int32) {
        var event = epoll_event()
        event.data.u64 = UInt64(UInt32(bitPattern: socket))
        if action == CURL_POLL_REMOVE {
            forgetEvents(of: socket)
            // The socket may already be closed, which has removed it from the set.
            epoll_ctl(set, EPOLL_CTL_DEL, socket, &event)
            return
        }
        if action & CURL_POLL_IN != 0 { event.events |= EPOLLIN.rawValue }
        if action & CURL_POLL_OUT != 0 { event.events |= EPOLLOUT.rawValue }
        if epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) != 0 {
            epoll_ctl(set, EPOLL_CTL_ADD, socket, &event)
        }
    }

    /// Watches a connection's socket, edge-triggered: each arrival is reported once, so that an unread response causes
    /// no further events.
    func watch(_ connection: CurlConnection, socket: Int32) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        event.data.u64 = UInt64(UInt32(bitPattern: socket))
        if epoll_ctl(set, EPOLL_CTL_ADD, socket, &event) != 0 {
            epoll_ctl(set, EPOLL_CTL_MOD, socket, &event)
        }
        connections[socket] = connection
    }

    func unwatch(socket: Int32) {
        var event = epoll_event()
        epoll_ctl(set, EPOLL_CTL_DEL, socket, &event)
        connections[socket] = nil
        forgetEvents(of: socket)
    }

    // MARK: Timer

    private func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0, !isClosed else { return }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        timer = eventLoop.scheduleTask(in: .milliseconds(Int64(milliseconds))) { bound.value.work() }
    }

    /// Makes libcurl check its sockets every 200 ms while it has transfers. When the connection to one address of a
    /// name fails, libcurl 7.88 continues with the next address without reporting its socket; otherwise nothing would
    /// check that socket before the connect timeout.
    private func scheduleLook() {
        guard look == nil, !transfers.isEmpty, !isClosed else { return }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        look = eventLoop.scheduleTask(in: Self.timeBetweenLooks) { bound.value.lookAtSockets() }
    }

    private func lookAtSockets() {
        look = nil
        guard !transfers.isEmpty, !isClosed else { return }
        _ = gatehouse_multi_socket_all(multi)
        finishTransfers()
        scheduleLook()
    }

    /// Schedules the waiting preparations to continue soon. Only for ``CurlPreparations``. libcurl's timer does not
    /// suffice, since libcurl cancels it when all transfers that were to begin are removed.
    func scheduleTurn() {
        guard !turnIsScheduled, !isClosed else { return }
        turnIsScheduled = true
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute {
            bound.value.turnIsScheduled = false
            bound.value.work()
        }
    }

    /// Makes libcurl begin its new transfers and end those that have timed out, and then begins the next prepared ones.
    private func work() {
        guard !isClosed else { return }
        act(on: CURL_SOCKET_TIMEOUT, events: 0)
        finishTransfers()
        preparations.beginNext()
    }

    // MARK: Turns

    /// Makes `sender` send at the end of this turn, together with all others.
    package func sendLater(_ sender: any EndOfTurnSender) {
        senders.append(sender)
        awaitEndOfTurn()
    }

    private func awaitEndOfTurn() {
        guard !awaitsEndOfTurn, !isClosed else { return }
        awaitsEndOfTurn = true
        loop.atEndOfTurn(self)
    }

    /// Sends waiting bytes, and then handles events that were reported before. Bytes that arrive before a request on
    /// its connection do not belong to it, so all sockets are polled first, with one call.
    package func endTurn() {
        awaitsEndOfTurn = false
        guard !isClosed else { return }
        // Events left from the last turn occupy the list. Until they are handled, each connection queries its own
        // socket.
        if unhandled.isEmpty {
            poll()
            for index in unhandled {
                connections[Int32(truncatingIfNeeded: events[index].data.u64)]?.hasPendingEvent = true
            }
            // If the list is full, there may be more events.
            hasJustPolled = unhandled.count < events.count
        }
        sendWhatWaits()
        hasJustPolled = false
        if !isClosed { handleReports() }
    }

    private func sendWhatWaits() {
        var turn = spareSenders
        swap(&turn, &senders)
        for sender in turn { sender.sendAtEndOfTurn() }
        turn.removeAll(keepingCapacity: true)
        spareSenders = turn
    }

    package func ready(_ events: ReadyEvents) {
        if unhandled.isEmpty { poll() }
        handleReports()
    }

    /// Handles reported events without waiting. After too long a time, the rest is handled in the next turn.
    private func handleReports() {
        guard !unhandled.isEmpty else { return }
        let began = NIODeadline.now()
        while let index = unhandled.popFirst() {
            let event = events[index]
            let socket = Int32(truncatingIfNeeded: event.data.u64)
            if let connection = connections[socket] {
                connection.ready(event.events)
            } else {
                act(on: socket, events: event.events)
                if NIODeadline.now() - began > Self.longestTurn { break }
            }
            if isClosed { return }
        }
        finishTransfers()
        if !unhandled.isEmpty { awaitEndOfTurn() }
    }

    /// Polls for events without waiting.
    private func poll() {
        unhandled = 0..<max(0, Int(epoll_wait(set, &events, Int32(events.count), 0)))
    }

    /// Discards the unhandled events of a socket: another socket may get the same descriptor.
    private func forgetEvents(of socket: Int32) {
        for index in unhandled where Int32(truncatingIfNeeded: events[index].data.u64) == socket {
            events[index].events = 0
        }
    }

    private func act(on socket: curl_socket_t, events: UInt32) {
        guard !isClosed else { return }
        var mask: Int32 = 0
        if events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLRDHUP.rawValue) != 0 { mask |= CURL_CSELECT_IN }
        if events & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if events & EPOLLERR.rawValue != 0 { mask |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, mask, &running)
    }

    private func finishTransfers() {
        var left: Int32 = 0
        while !isClosed, let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let result = gatehouse_message_result(message)
            transfers[easy]?.finished(result)
        }
    }
}

/// A sender whose bytes may wait until the end of the turn.
package protocol EndOfTurnSender: AnyObject {
    /// Called once for each ``CurlLoop/sendLater(_:)``, on the loop.
    func sendAtEndOfTurn()
}

/// A transfer on a multi handle: a connection being made, or a fetch.
protocol CurlTransfer: AnyObject {
    /// Called once on the loop when libcurl is done with the transfer; must remove its handle or keep it.
    func finished(_ result: CURLcode)
}
