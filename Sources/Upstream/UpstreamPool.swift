package import Curl
package import NIOCore
package import Pipeline
internal import Sockets

/// Events of a pool, for metrics.
package enum UpstreamEvent: Sendable {
    case opened, reused, retried
}

/// Events of one of the servers, for metrics.
package enum ServerEvent: Sendable, Equatable {
    /// A request went to it, or has ended there.
    case began, ended
    case failed
    /// It has failed, or responded with a 5xx status.
    case erred(ServerError, requestID: String)
    /// The reason is what its last failure was.
    case ejected(reason: String)
    /// It has failed as often as would eject it, but stays: it is the last one, or too many others are out.
    case ejectionWithheld(reason: String)
    /// So many more connections are idle than were told of. It is told now and then, not at each request.
    case idle(more: Int)
    /// So many more connections were closed on which it sent bytes that no request asked for. It is told now and then.
    case unsolicited(more: Int)
    /// Whether it takes requests has changed.
    case serving(Bool)
}

/// One upstream on one event loop: which server takes a request, and who waits when all are busy.
package final class UpstreamPool: EndOfTurnWork {
    package let settings: UpstreamSettings
    private let loop: CurlLoop
    private let servers: [ServerConnections]
    private var balancer: Balancer
    private var states: ServerStates
    private var budget: RetryBudget
    private var line: WaitingLine<UpstreamExchange>
    private var isDispatching = false
    /// Some server's share changes with time.
    private var isInTransition = false
    private var active: [UpstreamExchange] = []
    private var sweep: RepeatedTask?
    private var isClosed = false
    /// Exchanges that had their turn at receiving and have more to receive.
    private var continuing: [UpstreamExchange] = []
    private var isContinuing = false
    private var spareBuffers: [ByteBuffer] = []

    private let observe: (UpstreamEvent) -> Void
    private let observeServer: (Int, ServerEvent) -> Void

    /// How often deadlines are looked at. A time-out is late by at most this.
    private static let sweepInterval = TimeAmount.milliseconds(100)

    /// - Parameter observeServer: hears a server's position in the settings, and what happened to it.
    package init(
        settings: UpstreamSettings, loop: CurlLoop, observe: @escaping (UpstreamEvent) -> Void = { _ in },
        observeServer: @escaping (Int, ServerEvent) -> Void = { _, _ in }
    ) {
        self.settings = settings
        self.loop = loop
        self.observe = observe
        self.observeServer = observeServer
        servers = settings.servers.indices.map { ServerConnections(number: $0, settings: settings, loop: loop) }
        balancer = Balancer(
            settings.balance, servers: settings.servers.map { ($0.name, $0.weight) },
            capacity: settings.maximumConnections)
        states = ServerStates(settings.ejection, count: settings.servers.count)
        budget = RetryBudget(percent: settings.retryPercent)
        line = WaitingLine(
            capacity: settings.maximumWaiting * settings.servers.count, patience: settings.waitingTimeout)
        startSweeping()
    }

    /// Sends an authorised request; `receiver` hears the response or the fault, never before this returns.
    ///
    /// - Parameters:
    ///   - subject: who asks, for upstreams that share out by subject.
    ///   - timeouts: the route's own, where it has any.
    ///   - copiesLines: whether the response's fields are wanted as lines, to be passed on as they are.
    package func send(
        _ request: ForwardedRequest, subject: String? = nil, timeouts: UpstreamTimeouts? = nil,
        copiesLines: Bool = false, to receiver: any UpstreamResponseReceiver
    ) -> UpstreamExchange {
        let exchange = UpstreamExchange(
            request, subject: subject, timeouts: timeouts ?? settings.timeouts, pool: self, copiesLines: copiesLines,
            receiver: receiver)
        exchange.activeIndex = active.count
        active.append(exchange)
        if sweep == nil { startSweeping() }
        budget.requestBegan()
        place(exchange)
        return exchange
    }

    /// Keeps no connection any longer: idle ones are closed now, those in use when their exchange ends.
    ///
    /// Until then their time-outs hold, and what is still sent is served, each request on a connection of its own. No
    /// more is heard of which servers take requests.
    package func close() {
        guard !isClosed else { return }
        for index in servers.indices where !balancer.takes(index) { observeServer(index, .serving(true)) }
        isClosed = true
        for server in servers { server.close() }
        reportIdle()
        if active.isEmpty { stopSweeping() }
    }

    // MARK: Buffers

    /// A buffer for the next request's head, where one has been given back. With a token in it a head is too
    /// large for the fast path of glibc's allocator.
    package func takeBuffer() -> ByteBuffer { spareBuffers.popLast() ?? ByteBuffer() }

    func recycle(_ buffer: consuming ByteBuffer) {
        guard buffer.storageCapacity <= Self.maximumSpareCapacity, spareBuffers.count < Self.maximumSpareBuffers
        else { return }
        spareBuffers.append(buffer)
    }

    private static let maximumSpareBuffers = 64
    private static let maximumSpareCapacity = 8 << 10

    // MARK: Places

    private func place(_ exchange: UpstreamExchange) {
        if line.isEmpty, let number = balancer.pick(subject: exchange.subject) {
            begin(exchange, on: number)
            connect(exchange, afresh: false)
        } else if !balancer.hasServer {
            failLater(exchange, .noServer(retryAfter: secondsUntilReturn))
        } else if !line.add(exchange, at: .now()) {
            failLater(exchange, .overloaded)
        }
    }

    private func failLater(_ exchange: UpstreamExchange, _ fault: UpstreamFault) {
        let bound = NIOLoopBound(exchange, eventLoop: loop.eventLoop)
        loop.eventLoop.execute { bound.value.fail(fault) }
    }

    private func begin(_ exchange: UpstreamExchange, on number: Int) {
        exchange.isPlaced(at: servers[number])
        balancer.began(on: number)
        observeServer(number, .began)
    }

    private func leave(_ server: ServerConnections) {
        balancer.ended(on: server.number)
        observeServer(server.number, .ended)
    }

    func ended(_ exchange: UpstreamExchange) {
        let index = exchange.activeIndex
        guard index >= 0 else { return }
        exchange.activeIndex = -1
        let last = active.removeLast()
        if last !== exchange {
            active[index] = last
            last.activeIndex = index
        }
        if let server = exchange.leaveServer() {
            leave(server)
        } else {
            line.remove(exchange)
        }
        if !line.isEmpty { dispatch() }
        if isClosed, active.isEmpty { stopSweeping() }
    }

    /// Gives free places to waiting requests. Places freed meanwhile are noticed by the loop that is already running.
    private func dispatch() {
        guard !isDispatching else { return }
        isDispatching = true
        defer { isDispatching = false }
        while !line.isEmpty, balancer.hasRoom {
            guard let exchange = line.takeFirst(), let number = balancer.pick(subject: exchange.subject) else { return }
            begin(exchange, on: number)
            connect(exchange, afresh: false)
        }
    }

    // MARK: Connections

    private func connect(_ exchange: UpstreamExchange, afresh: Bool) {
        guard let server = exchange.server else { return }
        if !afresh, let connection = server.takeIdle(for: exchange) {
            observe(.reused)
            exchange.takes(connection)
            return
        }
        do {
            exchange.isConnecting(try server.connect(for: exchange))
            observe(.opened)
        } catch {
            let description = error.description
            let bound = NIOLoopBound(exchange, eventLoop: loop.eventLoop)
            loop.eventLoop.execute { bound.value.connectFailed(.cannotConnect(description)) }
        }
    }

    /// Takes another connection to the same server for what has not been sent on the one it had.
    func reconnect(_ exchange: UpstreamExchange) { connect(exchange, afresh: false) }

    // MARK: Retries

    /// Whether a retry at the same server can be paid for; then it is.
    func mayRetry() -> Bool { budget.takeRetry() }

    /// Moves what its server has just failed to another one, if there is one and a retry can be paid for.
    func moveElsewhere(_ exchange: UpstreamExchange, because fault: UpstreamFault) -> Bool {
        guard servers.count > 1, let failing = exchange.server,
            let next = balancer.pick(subject: exchange.subject, avoiding: failing.number), budget.takeRetry()
        else { return false }
        leave(failing)
        begin(exchange, on: next)
        failed(failing, exchange, by: fault)
        return true
    }

    func restart(_ exchange: UpstreamExchange) {
        observe(.retried)
        connect(exchange, afresh: true)
    }

    // MARK: The servers' state

    func failed(_ server: ServerConnections, _ exchange: UpstreamExchange, by fault: UpstreamFault) {
        erred(server, exchange, .fault(fault))
        if let failure = exchange.failure(by: fault) { failed(server, failure, fault.reason.rawValue) }
    }

    private func failed(_ server: ServerConnections, _ failure: ServerFailure, _ reason: @autoclosure () -> String) {
        observeServer(server.number, .failed)
        switch states.failed(server.number, failure, at: .now()) {
        case .stays: return
        case .ejected: observeServer(server.number, .ejected(reason: reason()))
        case .withheld: observeServer(server.number, .ejectionWithheld(reason: reason()))
        }
        refreshShares(at: .now())
    }

    private func erred(_ server: ServerConnections, _ exchange: UpstreamExchange, _ error: ServerError) {
        observeServer(server.number, .erred(error, requestID: exchange.receiver?.requestID ?? ""))
    }

    func responded(_ server: ServerConnections, status: Int, to exchange: UpstreamExchange) {
        if status >= 500 { erred(server, exchange, .status(status)) }
        if status >= 500, settings.ejection.statuses.contains(status) {
            failed(server, .ofRequest(exchange.traits), "status \(status)")
        } else if states.remembersFailures(of: server.number) {
            states.succeeded(server.number)
        }
    }

    /// Takes the result of a health check.
    ///
    /// - Parameter server: its position in the settings.
    package func setHealthy(_ healthy: Bool, server: Int) {
        let now = NIODeadline.now()
        if states.setHealthy(healthy, server: server, at: now) { refreshShares(at: now) }
    }

    /// Stops sending new requests to a server, or resumes. Requests in flight go on.
    ///
    /// - Parameter server: its position in the settings.
    package func setDrained(_ drained: Bool, server: Int) {
        let now = NIODeadline.now()
        if states.setDrained(drained, server: server, at: now) { refreshShares(at: now) }
    }

    private func refreshShares(at now: NIODeadline) {
        for index in servers.indices {
            let took = balancer.takes(index)
            balancer.setShare(states.share(of: index, at: now) * settings.servers[index].weight, of: index)
            if balancer.takes(index) != took, !isClosed { observeServer(index, .serving(!took)) }
        }
        isInTransition = states.isInTransition
        if !balancer.hasServer {
            for exchange in line.takeAll() { exchange.fail(.noServer(retryAfter: secondsUntilReturn)) }
        } else if !line.isEmpty {
            dispatch()
        }
    }

    /// When a client may find a server again.
    private var secondsUntilReturn: Int {
        let now = NIODeadline.now()
        if let first = states.nextReturn { return max(1, Int((first - now).nanoseconds / 1_000_000_000) + 1) }
        return max(1, Int(settings.healthCheck?.interval.components.seconds ?? 5))
    }

    // MARK: Time

    private func startSweeping() {
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        // It ends after close(), and the circle with it. A weak reference would make each use of the pool slower.
        sweep = loop.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.sweepInterval, delay: Self.sweepInterval
        ) { _ in bound.value.checkDeadlines() }
    }

    private func stopSweeping() {
        sweep?.cancel()
        sweep = nil
    }

    private func checkDeadlines() {
        let now = NIODeadline.now()
        for exchange in active where exchange.deadline <= now { exchange.deadlinePassed(at: now) }
        for exchange in line.takeExpired(at: now) { exchange.fail(.waitedTooLong) }
        if isInTransition { refreshShares(at: now) }
        for server in servers { server.sweep(at: now) }
        reportIdle()
    }

    private func reportIdle() {
        for server in servers {
            let change = server.takeIdleChange()
            if change != 0 { observeServer(server.number, .idle(more: change)) }
            let unsolicited = server.takeUnsolicited()
            if unsolicited != 0 { observeServer(server.number, .unsolicited(more: unsolicited)) }
        }
    }

    /// Has `exchange` send at the end of this turn what it holds.
    func sendLater(_ exchange: UpstreamExchange) { loop.sendLater(exchange) }

    /// Has `exchange` receive on after whatever else the loop has to do.
    func continueLater(_ exchange: UpstreamExchange) {
        continuing.append(exchange)
        if continuing.count == 1, !isContinuing { loop.eventLoop.callAtEndOfTurn(self) }
    }

    package func endTurn() {
        let turn = continuing
        continuing.removeAll(keepingCapacity: true)
        isContinuing = true
        for exchange in turn { exchange.continueReceiving() }
        isContinuing = false
        if !continuing.isEmpty { loop.eventLoop.callAtEndOfTurn(self) }
    }
}
