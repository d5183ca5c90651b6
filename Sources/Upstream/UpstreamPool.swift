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
    /// A request was assigned to the server, or has ended there.
    case began, ended
    case failed
    /// A request failed, or the response had a 5xx status.
    case erred(ServerError, requestID: String)
    /// The reason is that of the last failure.
    case ejected(reason: String)
    /// The server has failed often enough to be ejected, but stays because it is the last one or too many others are
    /// ejected.
    case ejectionWithheld(reason: String)
    /// The change in the number of idle connections since the last report; negative if there are fewer. Reported every
    /// 100 ms.
    case idle(more: Int)
    /// The number of connections closed since the last report because the server sent bytes without a request.
    case unsolicited(more: Int)
    /// The server has begun or ceased to take requests.
    case serving(Bool)
}

/// One upstream on one event loop: assigns requests to its servers, and queues them while all servers are busy.
package final class UpstreamPool: EndOfTurnWork {
    package let settings: UpstreamSettings
    private let loop: CurlLoop
    private let servers: [ServerConnections]
    private var balancer: Balancer
    private var states: ServerStates
    private var budget: RetryBudget
    private var queue: RequestQueue<UpstreamExchange>
    private var isDispatching = false
    /// Whether some server's share changes with time.
    private var isInTransition = false
    private var active: [UpstreamExchange] = []
    private var sweep: RepeatedTask?
    private var isClosed = false
    /// Exchanges that have had their turn and have more to receive.
    private var continuing: [UpstreamExchange] = []
    private var isContinuing = false
    private var spareBuffers: [ByteBuffer] = []

    private let observe: (UpstreamEvent) -> Void
    private let observeServer: (Int, ServerEvent) -> Void

    /// The interval between checks of deadlines: the longest delay of a timeout.
    private static let sweepInterval = TimeAmount.milliseconds(100)

    /// - Parameter observeServer: called with the server's index in the settings and the event.
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
        queue = RequestQueue(
            capacity: settings.maximumWaiting * settings.servers.count, timeout: settings.waitingTimeout)
        startSweeping()
    }

    /// Sends an authorized request. `receiver` gets the response or the error, never before this method returns.
    ///
    /// - Parameters:
    ///   - subject: the user, for upstreams that balance by subject.
    ///   - timeouts: the route's timeouts; nil: the upstream's.
    ///   - copiesLines: whether the response's fields are returned as lines, to be forwarded unchanged.
    package func send(
        _ request: consuming ForwardedRequest, subject: String? = nil, timeouts: UpstreamTimeouts? = nil,
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

    /// Closes idle connections now, and each busy one when its exchange ends.
    ///
    /// Requests that are sent later still work, each on a new connection, and timeouts still apply. No more `serving`
    /// events are reported.
    package func close() {
        guard !isClosed else { return }
        for index in servers.indices where !balancer.takes(index) { observeServer(index, .serving(true)) }
        isClosed = true
        for server in servers { server.close() }
        reportIdle()
        if active.isEmpty { stopSweeping() }
    }

    // MARK: Buffers

    /// Returns a buffer for the next request's head, recycled if possible. With a token in it, a head is too large for
    /// the fast path of glibc's allocator.
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
        if queue.isEmpty, let number = balancer.pick(subject: exchange.subject) {
            begin(exchange, on: number)
            connect(exchange, afresh: false)
        } else if !balancer.hasServer {
            failLater(exchange, .noServer(retryAfter: secondsUntilReturn))
        } else if !queue.add(exchange, at: .now()) {
            failLater(exchange, .overloaded)
        }
    }

    private func failLater(_ exchange: UpstreamExchange, _ error: UpstreamError) {
        let bound = NIOLoopBound(exchange, eventLoop: loop.eventLoop)
        loop.eventLoop.execute { bound.value.fail(error) }
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
            queue.remove(exchange)
        }
        if !queue.isEmpty { dispatch() }
        if isClosed, active.isEmpty { stopSweeping() }
    }

    /// Assigns free capacity to queued requests. A call during another one has no effect: the running one also uses
    /// capacity that is freed meanwhile.
    private func dispatch() {
        guard !isDispatching else { return }
        isDispatching = true
        defer { isDispatching = false }
        while !queue.isEmpty, balancer.hasRoom {
            guard let exchange = queue.takeFirst(), let number = balancer.pick(subject: exchange.subject) else {
                return
            }
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

    /// Takes another connection to the same server for a request that was not sent on its previous one.
    func reconnect(_ exchange: UpstreamExchange) { connect(exchange, afresh: false) }

    // MARK: Retries

    /// Takes a retry at the same server from the budget; false if the budget is used up.
    func mayRetry() -> Bool { budget.takeRetry() }

    /// Moves a request that its server has just failed to another server. Returns false if there is none, or if the
    /// retry budget is used up.
    func moveElsewhere(_ exchange: UpstreamExchange, because error: UpstreamError) -> Bool {
        guard servers.count > 1, let failing = exchange.server,
            let next = balancer.pick(subject: exchange.subject, avoiding: failing.number), budget.takeRetry()
        else { return false }
        leave(failing)
        begin(exchange, on: next)
        failed(failing, exchange, by: error)
        return true
    }

    func restart(_ exchange: UpstreamExchange) {
        observe(.retried)
        connect(exchange, afresh: true)
    }

    // MARK: The servers' state

    func failed(_ server: ServerConnections, _ exchange: UpstreamExchange, by error: UpstreamError) {
        erred(server, exchange, .error(error))
        if let failure = exchange.failure(by: error) { failed(server, failure, error.reason.rawValue) }
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

    /// Applies the result of a health check.
    ///
    /// - Parameter server: the index of the server in the settings.
    package func setHealthy(_ healthy: Bool, server: Int) {
        let now = NIODeadline.now()
        if states.setHealthy(healthy, server: server, at: now) { refreshShares(at: now) }
    }

    /// Stops or resumes sending new requests to a server. Requests in flight continue.
    ///
    /// - Parameter server: the index of the server in the settings.
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
            for exchange in queue.takeAll() { exchange.fail(.noServer(retryAfter: secondsUntilReturn)) }
        } else if !queue.isEmpty {
            dispatch()
        }
    }

    /// The number of seconds after which a server may be available again.
    private var secondsUntilReturn: Int {
        let now = NIODeadline.now()
        if let first = states.nextReturn { return max(1, Int((first - now).nanoseconds / 1_000_000_000) + 1) }
        return max(1, Int(settings.healthCheck?.interval.components.seconds ?? 5))
    }

    // MARK: Time

    private func startSweeping() {
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        // The task, and the retain cycle with it, ends after `close()`. A weak reference would slow down each use of
        // the pool.
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
        for exchange in queue.takeExpired(at: now) { exchange.fail(.waitedTooLong) }
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

    /// Makes `exchange` send its unsent bytes at the end of this turn.
    func sendLater(_ exchange: UpstreamExchange) { loop.sendLater(exchange) }

    /// Makes `exchange` continue receiving after the loop's other work.
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
