import Measure
import NIOCore
import NIOEmbedded
import Pipeline

@testable import Listener

/// A listener's handlers on an event loop of the fuzzer's, and what one connection may cost.
final class FuzzGateway {
    let loop = EmbeddedEventLoop()
    let service: FuzzService
    let pipeline: ConnectionPipeline
    private let connections: ConnectionSet
    private let settings: ListenerSettings
    private let admission: ConnectionAdmission
    /// Nanoseconds that a byte of ordinary small requests costs here and now.
    private var ordinaryCost = 0.0
    private var mostTime: UInt64 = 0
    private var mostTimeOfKilobyte: UInt64 = 0

    static let proxyAddress = "198.51.100.1"
    /// The most bytes that a connection may have stored at any time. Bodies of a connection's window, 1 MiB, are the
    /// most that is wanted; the bytes sent are up to ``mostSent``.
    private static let mostStored = 4 << 20
    private static let mostSent = 8 << 20
    /// In this many writes, and so much processor time, a connection has shown what it costs.
    private static let mostWrites = 8192
    private static let longest: UInt64 = 250_000_000

    init(http2: Bool, accounts: AccountCalls?) {
        service = FuzzService(loop: loop, accounts: accounts)
        connections = ConnectionSet(eventLoop: loop)
        // The product's rate, by the fuzzer's own clock, and room for the one connection that there is at a time.
        var settings = ListenerSettings(
            host: "127.0.0.1", port: 0, connectionsPerAddress: 1, minimumRate: 500, minimumRateGrace: .seconds(30))
        settings.http2 = http2 ? HTTP2Limits() : nil
        settings.proxies = (try? IPNetwork(Self.proxyAddress)).map { [$0] } ?? []
        self.settings = settings
        admission = ConnectionAdmission([NIOLoopBound(connections, eventLoop: loop)])
        pipeline = ConnectionPipeline(
            shared: SharedListenerSettings(settings), service: service, connections: connections, admission: admission)
    }

    /// As the listener does with what it accepts.
    func install(on channel: EmbeddedChannel, from address: String) throws {
        // Of a proxy's connection the client's address counts, which comes with the header.
        if address != Self.proxyAddress, let client = IPAddress(address),
            !admission.admit(client, channel, settings)
        {
            service.refuseConnection(.addressLimit, peer: address)
        }
        try pipeline.install(on: channel, from: IPAddress(address))
    }

    struct Cost {
        var nanoseconds: UInt64 = 0
        /// The most bytes that the connection had stored.
        var stored = 0
        /// The bytes that the process has allocated when the connection has gone.
        var liveAfter = 0
        var sentBytes = 0
        var receivedBytes = 0

        var nanosecondsOfKilobyte: UInt64 { nanoseconds / UInt64(sentBytes / 1024 + 1) }
    }

    /// Plays one connection.
    func play(_ script: Script) -> Cost {
        var cost = Cost()
        let before = live_bytes()
        let start = processor_nanoseconds()
        autoreleased {
            guard let connection = try? Connection(self, isProxied: script.isProxied, writeSize: script.writeSize)
            else { preconditionFailure("no connection can be made") }
            for step in script.steps {
                guard connection.isOpen, carryOut(step, connection, &cost, before, start) else { break }
            }
            connection.flush()
            note(&cost, connection, before)
            connection.close()
            cost.sentBytes = connection.sentBytes
            cost.receivedBytes = connection.receivedBytes
        }
        cost.nanoseconds = processor_nanoseconds() - start
        cost.liveAfter = live_bytes()
        if connections.count != 0 { fatalError("a closed connection is still there") }
        if service.openStreams != 0 { fatalError("an end is not told") }
        if service.waitingResponses != 0 { fatalError("a response that has gone is still waited for") }
        return cost
    }

    @inline(never)
    private func autoreleased(_ body: () -> Void) { body() }

    /// - Returns: whether the next step makes sense.
    private func carryOut(
        _ step: Script.Step, _ connection: Connection, _ cost: inout Cost, _ before: Int, _ start: UInt64
    ) -> Bool {
        switch step {
        case .send(let block, let times):
            var noted = connection.sentBytes
            for _ in 0..<times where connection.isOpen {
                connection.send(block)
                if connection.writes > Self.mostWrites { return false }
                guard connection.sentBytes - noted >= 256 << 10 else { continue }
                noted = connection.sentBytes
                note(&cost, connection, before)
                if noted > Self.mostSent || processor_nanoseconds() - start > Self.longest { return false }
            }
        case .cut: connection.flush()
        case .wait(let quarters):
            connection.flush()
            connection.wait(quarters: quarters)
        case .end: connection.end()
        case .setReading(let reads):
            connection.flush()
            connection.setReading(reads)
        }
        note(&cost, connection, before)
        return connection.sentBytes <= Self.mostSent
    }

    private func note(_ cost: inout Cost, _ connection: Connection, _ before: Int) {
        cost.stored = max(cost.stored, live_bytes() - before - connection.clientBytes)
    }
}

// MARK: Limits

extension FuzzGateway {
    /// Measures what ordinary requests cost, so that a slow machine is no finding.
    func measureOrdinary(_ script: Script) {
        ordinaryCost = .infinity
        for _ in 0..<20 { _ = play(script) }
        let costs = (0..<20).map { _ in play(script) }
        ordinaryCost = costs.map { Double($0.nanoseconds) / Double($0.sentBytes) }.min() ?? 0
        print("ordinary requests: \(Int(ordinaryCost)) ns a byte")
    }

    /// The processor time that so many bytes may cost. A response's bytes cost little beside.
    private func allowed(_ cost: Cost) -> UInt64 {
        UInt64(ordinaryCost * Self.factor * (Double(cost.sentBytes) + Double(cost.receivedBytes) / 16)) + Self.slack
    }

    private static let factor = 8.0
    private static let slack: UInt64 = 5_000_000

    /// Plays a connection and ends the process when it stores, costs or leaves more than it may. That must be so each
    /// time: a busy machine and a table that grows once are no finding.
    func check(_ script: Script) {
        let before = live_bytes()
        var cost = play(script)
        report(&cost, script)
        var leaks = cost.liveAfter > before
        var tries = 0
        while tries < (leaks ? 20 : 5), leaks || isFinding(cost) {
            let next = play(script)
            leaks = leaks && next.liveAfter > cost.liveAfter
            cost.liveAfter = next.liveAfter
            cost.stored = min(cost.stored, next.stored)
            cost.nanoseconds = min(cost.nanoseconds, next.nanoseconds)
            tries += 1
        }
        guard leaks || isFinding(cost) else { return }
        fatalError(
            """
            \(cost.sentBytes) bytes sent: \(cost.stored) stored (\(Self.mostStored) allowed), \
            \(cost.nanoseconds / 1000) µs (\(allowed(cost) / 1000) allowed)\(leaks ? ", leaks" : "")
            """)
    }

    /// Lets libFuzzer go on from inputs that cost more than those before. A costlier input is played again, since else
    /// an input that was slow by chance would be taken for the costliest of all.
    private func report(_ cost: inout Cost, _ script: Script) {
        var tries = 0
        while tries < 3, cost.nanoseconds > 2 * mostTime || cost.nanosecondsOfKilobyte > 2 * mostTimeOfKilobyte {
            cost.nanoseconds = min(cost.nanoseconds, play(script).nanoseconds)
            tries += 1
        }
        mostTime = max(mostTime, cost.nanoseconds)
        mostTimeOfKilobyte = max(mostTimeOfKilobyte, cost.nanosecondsOfKilobyte)
        report_cost(0, UInt64(max(0, cost.stored)))
        report_cost(1, cost.nanosecondsOfKilobyte)
        report_cost(2, cost.nanoseconds)
    }

    private func isFinding(_ cost: Cost) -> Bool {
        cost.stored > Self.mostStored || cost.nanoseconds > allowed(cost)
    }
}
