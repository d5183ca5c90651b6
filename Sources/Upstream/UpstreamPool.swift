package import Curl
internal import NIOCore

/// What a pool did, for metrics.
package enum UpstreamEvent: Sendable {
    case opened, reused, retried
}

/// One backend's connections on one event loop.
package final class UpstreamPool {
    package let settings: UpstreamSettings
    private let loop: CurlLoop
    /// The most recently used last: it is reused first, so that those no longer needed grow old and go.
    private var idle: [UpstreamConnection] = []
    private var active: [UpstreamExchange] = []
    private var sweep: RepeatedTask?
    /// Exchanges that had their turn at receiving and have more to receive.
    private var waiting: [UpstreamExchange] = []
    private var isContinuing = false
    private static let continuationGap = TimeAmount.microseconds(50)

    private let observe: (UpstreamEvent) -> Void

    /// How often deadlines are looked at. A time-out is late by at most this.
    private static let sweepInterval = TimeAmount.milliseconds(100)

    package init(
        settings: UpstreamSettings, loop: CurlLoop, observe: @escaping (UpstreamEvent) -> Void = { _ in }
    ) {
        self.settings = settings
        self.loop = loop
        self.observe = observe
        let bound = NIOLoopBound(WeakReference(pool: self), eventLoop: loop.eventLoop)
        sweep = loop.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.sweepInterval, delay: Self.sweepInterval
        ) { _ in bound.value.pool?.checkDeadlines() }
    }

    private struct WeakReference { weak var pool: UpstreamPool? }

    /// Sends an authorised request; `receiver` hears the response or the fault, never before this returns.
    package func send(_ request: ForwardedRequest, to receiver: any UpstreamResponseReceiver) -> UpstreamExchange {
        let exchange = UpstreamExchange(request, pool: self, receiver: receiver)
        exchange.activeIndex = active.count
        active.append(exchange)
        connect(exchange, afresh: false)
        return exchange
    }

    /// Closes idle connections; those in use are closed when their exchange ends.
    package func close() {
        sweep?.cancel()
        sweep = nil
        for connection in idle { connection.close() }
        idle.removeAll()
    }

    // MARK: Connections

    private func connect(_ exchange: UpstreamExchange, afresh: Bool) {
        if !afresh, let connection = takeIdle(for: exchange) {
            observe(.reused)
            exchange.connectionIsUp(connection)
            return
        }
        do {
            exchange.isConnecting(try UpstreamConnection(for: exchange, in: self, on: loop))
            observe(.opened)
        } catch {
            let description = error.description
            let bound = NIOLoopBound(exchange, eventLoop: loop.eventLoop)
            loop.eventLoop.execute { bound.value.fail(.cannotConnect(description)) }
        }
    }

    private func takeIdle(for exchange: UpstreamExchange) -> UpstreamConnection? {
        while let connection = idle.popLast() {
            // What cannot be repeated must not meet a connection that the backend has closed meanwhile.
            if exchange.isRepeatable || connection.isStillOpen() {
                connection.reuse(for: exchange)
                return connection
            }
            connection.close()
        }
        return nil
    }

    func retry(_ exchange: UpstreamExchange) {
        observe(.retried)
        connect(exchange, afresh: true)
    }

    func scheduleDrain() { loop.scheduleDrain() }

    /// Has `exchange` receive on after whatever else the loop has to do.
    func continueLater(_ exchange: UpstreamExchange) {
        waiting.append(exchange)
        if waiting.count == 1, !isContinuing { scheduleContinuation() }
    }

    /// SwiftNIO looks at its sockets only when no task is due: hence the small gap, and one task for all who wait.
    private func scheduleContinuation() {
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        loop.eventLoop.scheduleTask(in: Self.continuationGap) { bound.value.continueWaiting() }
    }

    private func continueWaiting() {
        let turn = waiting
        waiting.removeAll(keepingCapacity: true)
        isContinuing = true
        for exchange in turn { exchange.continueReceiving() }
        isContinuing = false
        if !waiting.isEmpty { scheduleContinuation() }
    }

    func giveBack(_ connection: UpstreamConnection) {
        guard idle.count < settings.maximumIdleConnections, sweep != nil else {
            connection.close()
            return
        }
        connection.becomeIdle(at: .now())
        idle.append(connection)
    }

    func discardIdle(_ connection: UpstreamConnection) {
        idle.removeAll { $0 === connection }
        connection.close()
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
    }

    private func checkDeadlines() {
        let now = NIODeadline.now()
        for exchange in active where exchange.deadline <= now { exchange.deadlinePassed() }
        let oldest = now - settings.keepAlive
        guard let first = idle.first, first.idleSince < oldest else { return }
        for connection in idle where connection.idleSince < oldest { connection.close() }
        idle.removeAll { $0.idleSince < oldest }
    }
}
