package import Pipeline

/// One event loop's counters. They are changed on that loop only and read by any thread.
///
/// When the labels change, a successor takes over the counters of all that stay.
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
    /// 1 where this loop sends the server nothing.
    let serverAbsent: CounterFamily
    let serverIdle: CounterFamily
    /// When this loop began or ceased to send the server requests, in seconds since 1970; 0 if it never did.
    let serverChanged: CounterFamily
    let serverResponses: CounterFamily
    /// As ``DurationHistogram`` lays them out.
    let serverDuration: CounterFamily
    /// By route, as ``DurationHistogram`` lays them out.
    let requestDuration: CounterFamily
    let upstreamDuration: CounterFamily
    /// Of requests that went to an upstream, what is left without it.
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

    /// A request's head has come. Each is followed by one `requestEnded`.
    package func requestBegan() {
        requestsInFlight.add()
    }

    /// A response has ended, or its client has gone. `route` is the route's index in ``MetricsLabels``, nil for none;
    /// durations are in microseconds.
    ///
    /// - Parameters:
    ///   - isSafe: whether the method only asks (RFC 9110 §9.2.1).
    ///   - server: the number in ``MetricsLabels`` of the server that had the request last, and how long the upstream took.
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
        // How long a WebSocket was open says nothing about how long answers take.
        guard status != 101 else { return }
        requestDuration.observe(microseconds: duration, row: route)
        if let server { serverDuration.observe(microseconds: server.duration, row: server.number) }
        guard let upstreamDuration else { return }
        self.upstreamDuration.observe(microseconds: upstreamDuration, row: route)
        gatewayDuration.observe(microseconds: max(0, duration - upstreamDuration), row: route)
    }

    /// A response has ended, and its client has not taken all of it. Each is followed by one ``responseHasLeft()``.
    package func responseWaits() { responsesUnsent.add() }
    package func responseHasLeft() { responsesUnsent.add(-1) }

    /// A request was refused, or did not reach its end.
    package func denied(_ reason: Reason) {
        denials.add(at: denialIndexes[reason.code] ?? denialIndexes.count)
    }

    /// An app tried to call Cognito itself; nil when it is not known which operation.
    package func directCognitoCall(operation: String?) {
        directCognito.add(at: operation.flatMap { directIndexes[$0] } ?? directIndexes.count)
    }

    /// Bytes read from clients.
    package func received(bytes: Int) { bytesReceived.add(Int64(bytes)) }
    /// Bytes written to clients.
    package func sent(bytes: Int) { bytesSent.add(Int64(bytes)) }

    package func connectionOpened() {
        connectionsAccepted.add()
        connectionsOpen.add()
    }

    /// A connection was not let in, for a reason of the closed list.
    package func connectionRefused(_ reason: String) {
        connectionsRefused.add(at: refusalIndexes[reason] ?? refusalIndexes.count)
    }

    /// An HTTP/2 connection was ended for an error of the closed list.
    package func connectionFailed(_ error: String) {
        connectionsFailed.add(at: errorIndexes[error] ?? errorIndexes.count)
    }
    /// An idle connection was closed in favour of a new one.
    package func connectionEvicted() { connectionsEvicted.add() }

    package func connectionClosed() { connectionsOpen.add(-1) }

    /// A stream of an HTTP/2 connection.
    package func streamOpened() {
        streams.add()
        streamsOpen.add()
    }

    package func streamClosed() { streamsOpen.add(-1) }

    /// A request has become a WebSocket, which stays one in flight until it ends.
    package func webSocketOpened() {
        webSockets.add()
        webSocketsOpen.add()
    }

    package func webSocketClosed() { webSocketsOpen.add(-1) }

    /// Whether requests are under way on this loop. A WebSocket that is open need not have anything to do.
    package var hasWork: Bool { requestsInFlight.value > webSocketsOpen.value }

    /// The loop was kept from all its connections for so long.
    package func stalled(microseconds: Int64) {
        stalls.add()
        stalledMicroseconds.add(microseconds)
    }

    package func tokenCacheHit() { tokenCacheHits.add() }
    /// - Parameter isShared: whether the process knew the token's signature.
    package func tokenCacheMiss(isShared: Bool = false) {
        (isShared ? sharedSignatures : tokenCacheMisses).add()
    }

    /// `upstream` is the upstream's index in ``MetricsLabels``, here and below.
    package func upstreamConnectionOpened(_ upstream: Int) { upstreamOpened.add(at: upstream) }
    /// A pooled connection took a request.
    package func upstreamConnectionReused(_ upstream: Int) { upstreamReused.add(at: upstream) }
    /// A request could not be answered by its upstream: no connection, no answer in time, or a faulty one.
    package func upstreamFailed(_ upstream: Int) { upstreamFailures.add(at: upstream) }
    /// A request was sent once more, on a new connection.
    package func upstreamRetried(_ upstream: Int) { upstreamRetries.add(at: upstream) }

    /// A request went to a server. `server` is its number in ``MetricsLabels``, here and below. Each is followed by one
    /// ``serverEnded(_:)``.
    package func serverBegan(_ server: Int) {
        serverRequests.add(at: server)
        serverInFlight.add(at: server)
    }

    package func serverEnded(_ server: Int) { serverInFlight.add(-1, at: server) }
    /// A server did not answer as it should, also where another one then did.
    package func serverFailed(_ server: Int) { serverFailures.add(at: server) }
    /// So many more connections to a server are idle.
    package func connectionsIdle(more count: Int, at server: Int) { serverIdle.add(Int64(count), at: server) }
    package func serverEjected(_ server: Int) { serverEjections.add(at: server) }
    /// A server failed as often as would eject it, and stays since too many others would be missing.
    package func serverEjectionWithheld(_ server: Int) { serverWithheld.add(at: server) }
    /// A server has sent bytes that no request asked for, on so many more connections.
    package func serverSentUnsolicited(more count: Int, at server: Int) {
        serverUnsolicited.add(Int64(count), at: server)
    }
    /// This loop begins or ceases to send a server requests.
    ///
    /// - Parameter now: seconds since 1970.
    package func server(_ server: Int, isServing: Bool, at now: Int64) {
        serverAbsent.add(isServing ? -1 : 1, at: server)
        serverChanged.set(now, at: server)
    }
}
