package import Pipeline

/// The counters of one event loop. Only that loop changes them; any thread can read them.
///
/// When the labels change, a successor takes over the counters of all labels that remain.
package final class LoopMetrics: Sendable {
    let labels: MetricsLabels
    let requests: CounterFamily
    let denials: CounterFamily
    let directCognito: CounterFamily
    let upstreamOpened: CounterFamily
    let upstreamReused: CounterFamily
    let upstreamFailures: CounterFamily
    let upstreamRetries: CounterFamily
    let serverRequests: CounterFamily
    let serverFailures: CounterFamily
    let serverEjections: CounterFamily
    let serverWithheld: CounterFamily
    let serverUnsolicited: CounterFamily
    let serverInFlight: CounterFamily
    /// 1 if this loop sends no requests to the server.
    let serverAbsent: CounterFamily
    let serverIdle: CounterFamily
    /// The time at which this loop last started or stopped sending requests to the server, in seconds since 1970; 0 if
    /// it never did.
    let serverChanged: CounterFamily
    let serverResponses: CounterFamily
    /// By server, in rows of ``DurationHistogram``.
    let serverDuration: CounterFamily
    /// By route, in rows of ``DurationHistogram``.
    let requestDuration: CounterFamily
    let upstreamDuration: CounterFamily
    /// The durations of requests that went to an upstream, minus the upstream's part.
    let gatewayDuration: CounterFamily
    let requestsInFlight: Counter
    let responsesUnsent: Counter
    let bytesReceived: Counter
    let bytesSent: Counter
    let connectionsAccepted: Counter
    let connectionsOpen: Counter
    let connectionsRefused: CounterFamily
    let connectionsFailed: CounterFamily
    let connectionsEvicted: Counter
    let streams: Counter
    let streamsOpen: Counter
    let webSockets: Counter
    let webSocketsOpen: Counter
    let stalls: Counter
    let stalledMicroseconds: Counter
    let tokenCacheHits: Counter
    let tokenCacheMisses: Counter
    let sharedSignatures: Counter

    private let denialIndexes: [String: Int]
    private let refusalIndexes: [String: Int]
    private let errorIndexes: [String: Int]
    private let directIndexes: [String: Int]
    private let noRoute: Int

    init(_ labels: MetricsLabels, continuing earlier: LoopMetrics? = nil) {
        func family(
            _ path: KeyPath<LoopMetrics, CounterFamily>, of keys: KeyPath<MetricsLabels, [String]>, width: Int = 1
        ) -> CounterFamily {
            CounterFamily(
                labels[keyPath: keys], width: width,
                continuing: earlier.map { ($0[keyPath: path], $0.labels[keyPath: keys]) })
        }
        self.labels = labels
        noRoute = labels.routes.count
        requests = family(\.requests, of: \.routes, width: StatusClass.labels.count * MethodClass.labels.count)
        denials = family(\.denials, of: \.denialReasons)
        directCognito = family(\.directCognito, of: \.directCognitoOperations)
        upstreamOpened = family(\.upstreamOpened, of: \.upstreams)
        upstreamReused = family(\.upstreamReused, of: \.upstreams)
        upstreamFailures = family(\.upstreamFailures, of: \.upstreams)
        upstreamRetries = family(\.upstreamRetries, of: \.upstreams)
        serverRequests = family(\.serverRequests, of: \.serverKeys)
        serverFailures = family(\.serverFailures, of: \.serverKeys)
        serverEjections = family(\.serverEjections, of: \.serverKeys)
        serverWithheld = family(\.serverWithheld, of: \.serverKeys)
        serverUnsolicited = family(\.serverUnsolicited, of: \.serverKeys)
        serverInFlight = family(\.serverInFlight, of: \.serverKeys)
        serverAbsent = family(\.serverAbsent, of: \.serverKeys)
        serverIdle = family(\.serverIdle, of: \.serverKeys)
        serverChanged = family(\.serverChanged, of: \.serverKeys)
        serverResponses = family(\.serverResponses, of: \.serverKeys, width: StatusClass.labels.count)
        serverDuration = family(\.serverDuration, of: \.serverKeys, width: DurationHistogram.width)
        requestDuration = family(\.requestDuration, of: \.routes, width: DurationHistogram.width)
        upstreamDuration = family(\.upstreamDuration, of: \.routes, width: DurationHistogram.width)
        gatewayDuration = family(\.gatewayDuration, of: \.routes, width: DurationHistogram.width)
        requestsInFlight = earlier?.requestsInFlight ?? Counter()
        responsesUnsent = earlier?.responsesUnsent ?? Counter()
        bytesReceived = earlier?.bytesReceived ?? Counter()
        bytesSent = earlier?.bytesSent ?? Counter()
        connectionsAccepted = earlier?.connectionsAccepted ?? Counter()
        connectionsOpen = earlier?.connectionsOpen ?? Counter()
        connectionsEvicted = earlier?.connectionsEvicted ?? Counter()
        connectionsRefused = family(\.connectionsRefused, of: \.connectionRefusals)
        refusalIndexes = Self.indexes(of: labels.connectionRefusals)
        connectionsFailed = family(\.connectionsFailed, of: \.connectionErrors)
        errorIndexes = Self.indexes(of: labels.connectionErrors)
        streams = earlier?.streams ?? Counter()
        streamsOpen = earlier?.streamsOpen ?? Counter()
        webSockets = earlier?.webSockets ?? Counter()
        webSocketsOpen = earlier?.webSocketsOpen ?? Counter()
        stalls = earlier?.stalls ?? Counter()
        stalledMicroseconds = earlier?.stalledMicroseconds ?? Counter()
        tokenCacheHits = earlier?.tokenCacheHits ?? Counter()
        tokenCacheMisses = earlier?.tokenCacheMisses ?? Counter()
        sharedSignatures = earlier?.sharedSignatures ?? Counter()
        denialIndexes = Self.indexes(of: labels.denialReasons)
        directIndexes = Self.indexes(of: labels.directCognitoOperations)
    }

    private static func indexes(of labels: [String]) -> [String: Int] {
        Dictionary(labels.enumerated().map { ($1, $0) }) { first, _ in first }
    }

    /// Counts a request whose head has been received. Each must be followed by one `requestEnded`.
    package func requestBegan() {
        requestsInFlight.add()
    }

    /// Counts a request whose response has ended or whose client has disconnected. `route` is the route's index in
    /// ``MetricsLabels``, nil for none; durations are in microseconds.
    ///
    /// - Parameters:
    ///   - isSafe: whether the method is safe (RFC 9110 §9.2.1).
    ///   - server: the index in ``MetricsLabels`` of the last server that received the request, and the upstream's
    ///     duration.
    package func requestEnded(
        route: Int?, isSafe: Bool = true, status: Int, duration: Int64, upstreamDuration: Int64?,
        server: (number: Int, duration: Int64)? = nil
    ) {
        let route = route.map { (0..<noRoute).contains($0) ? $0 : noRoute } ?? noRoute
        let row = route * MethodClass.labels.count + (isSafe ? 0 : 1)
        requests.add(at: row * StatusClass.labels.count + StatusClass.index(of: status))
        requestsInFlight.add(-1)
        if let server {
            serverResponses.add(at: server.number * StatusClass.labels.count + StatusClass.index(of: status))
        }
        // The lifetime of a WebSocket is not a response time.
        guard status != 101 else { return }
        requestDuration.observe(microseconds: duration, row: route)
        if let server { serverDuration.observe(microseconds: server.duration, row: server.number) }
        guard let upstreamDuration else { return }
        self.upstreamDuration.observe(microseconds: upstreamDuration, row: route)
        gatewayDuration.observe(microseconds: max(0, duration - upstreamDuration), row: route)
    }

    /// Counts a complete response that its client has not fully received yet. Each must be followed by one
    /// ``responseHasLeft()``.
    package func responseWaits() { responsesUnsent.add() }
    package func responseHasLeft() { responsesUnsent.add(-1) }

    /// Counts a request that was refused or did not complete.
    package func denied(_ reason: Reason) {
        denials.add(at: denialIndexes[reason.code] ?? denialIndexes.count)
    }

    /// Counts a direct Cognito call of an app; `operation` is nil if it is unknown.
    package func directCognitoCall(operation: String?) {
        directCognito.add(at: operation.flatMap { directIndexes[$0] } ?? directIndexes.count)
    }

    /// Counts body bytes read from clients.
    package func received(bytes: Int) { bytesReceived.add(Int64(bytes)) }
    /// Counts body bytes written to clients.
    package func sent(bytes: Int) { bytesSent.add(Int64(bytes)) }

    package func connectionOpened() {
        connectionsAccepted.add()
        connectionsOpen.add()
    }

    /// Counts a refused connection. The reason is from a closed list.
    package func connectionRefused(_ reason: String) {
        connectionsRefused.add(at: refusalIndexes[reason] ?? refusalIndexes.count)
    }

    /// Counts an HTTP/2 connection that was closed because of an error from a closed list.
    package func connectionFailed(_ error: String) {
        connectionsFailed.add(at: errorIndexes[error] ?? errorIndexes.count)
    }
    /// Counts an idle connection that was closed in favour of a new one.
    package func connectionEvicted() { connectionsEvicted.add() }

    package func connectionClosed() { connectionsOpen.add(-1) }

    /// Counts a new stream of an HTTP/2 connection.
    package func streamOpened() {
        streams.add()
        streamsOpen.add()
    }

    package func streamClosed() { streamsOpen.add(-1) }

    /// Counts a request that has become a WebSocket. The request stays in flight until the WebSocket ends.
    package func webSocketOpened() {
        webSockets.add()
        webSocketsOpen.add()
    }

    package func webSocketClosed() { webSocketsOpen.add(-1) }

    /// Whether requests are in flight on this loop. Open WebSockets are not counted, because they may be idle.
    package var hasWork: Bool { requestsInFlight.value > webSocketsOpen.value }

    /// Counts a stall of the loop and its duration.
    package func stalled(microseconds: Int64) {
        stalls.add()
        stalledMicroseconds.add(microseconds)
    }

    package func tokenCacheHit() { tokenCacheHits.add() }
    /// - Parameter isShared: whether the token's signature was found in the cache shared by all loops.
    package func tokenCacheMiss(isShared: Bool = false) {
        (isShared ? sharedSignatures : tokenCacheMisses).add()
    }

    /// Counts a new connection. `upstream` is the upstream's index in ``MetricsLabels``, here and below.
    package func upstreamConnectionOpened(_ upstream: Int) { upstreamOpened.add(at: upstream) }
    /// Counts a request on a pooled connection.
    package func upstreamConnectionReused(_ upstream: Int) { upstreamReused.add(at: upstream) }
    /// Counts a request that its upstream failed to answer: no connection, no response in time, or an invalid one.
    package func upstreamFailed(_ upstream: Int) { upstreamFailures.add(at: upstream) }
    /// Counts a request that was sent again on a new connection.
    package func upstreamRetried(_ upstream: Int) { upstreamRetries.add(at: upstream) }

    /// Counts a request sent to a server. `server` is its index in ``MetricsLabels``, here and below. Each must be
    /// followed by one ``serverEnded(_:)``.
    package func serverBegan(_ server: Int) {
        serverRequests.add(at: server)
        serverInFlight.add(at: server)
    }

    package func serverEnded(_ server: Int) { serverInFlight.add(-1, at: server) }
    /// Counts a server's failure, even if another server then responded.
    package func serverFailed(_ server: Int) { serverFailures.add(at: server) }
    /// Changes the number of idle connections to a server; negative if there are fewer.
    package func connectionsIdle(more count: Int, at server: Int) { serverIdle.add(Int64(count), at: server) }
    package func serverEjected(_ server: Int) { serverEjections.add(at: server) }
    /// Counts a due ejection that was withheld, because too many other servers would be missing.
    package func serverEjectionWithheld(_ server: Int) { serverWithheld.add(at: server) }
    /// Counts the connections on which a server has sent unrequested bytes since the last report.
    package func serverSentUnsolicited(more count: Int, at server: Int) {
        serverUnsolicited.add(Int64(count), at: server)
    }
    /// Notes that this loop starts or stops sending requests to a server.
    ///
    /// - Parameter now: seconds since 1970.
    package func server(_ server: Int, isServing: Bool, at now: Int64) {
        serverAbsent.add(isServing ? -1 : 1, at: server)
        serverChanged.set(now, at: server)
    }
}
