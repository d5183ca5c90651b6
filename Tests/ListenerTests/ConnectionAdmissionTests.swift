import NIOCore
import NIOEmbedded
import Pipeline
import Testing

@testable import Listener

@Suite("The admission of connections")
struct ConnectionAdmissionTests {
    /// A listener of one event loop, and what it admits.
    private final class Accepting {
        let loop = EmbeddedEventLoop()
        let connections: ConnectionSet
        let service = ScriptedService()
        private let admission: ConnectionAdmission
        private let shared: SharedListenerSettings

        init(connections limit: Int = 10, perAddress: Int = 10) {
            connections = ConnectionSet(eventLoop: loop)
            admission = ConnectionAdmission([NIOLoopBound(connections, eventLoop: loop)])
            shared = SharedListenerSettings(
                ListenerSettings(host: "127.0.0.1", port: 0, connections: limit, connectionsPerAddress: perAddress))
        }

        deinit { connections.stop() }

        /// - Returns: the connection; nil if it was refused.
        func accept(from address: String = "203.0.113.7") throws -> EmbeddedChannel? {
            let channel = EmbeddedChannel(loop: loop)
            let peer = try #require(IPAddress(address))
            channel.connect(to: try SocketAddress(ipAddress: address, port: 50_000), promise: nil)
            var isAdmitted = false
            switch admission.admit(channel, from: peer, shared.values, own: connections, service: service) {
            case .admitted: isAdmitted = true
            case .refused: break
            case .undecided(let decision):
                decision.assumeIsolated().whenSuccess { isAdmitted = $0 == nil }
                loop.run()
            }
            guard isAdmitted else { return nil }
            try ConnectionPipeline(
                shared: shared, service: service, connections: connections, admission: admission
            ).install(on: channel, from: peer)
            return channel
        }

        func close(_ channel: EmbeddedChannel?) {
            channel?.close(promise: nil)
            loop.run()
        }
    }

    @Test("A connection is counted until it has closed, by the service, the listener and its address", arguments: 1...3)
    func counted(limit: Int) throws {
        for (accepting, other) in [
            (Accepting(perAddress: limit), "203.0.113.8"), (Accepting(connections: limit), "203.0.113.7"),
        ] {
            for _ in 0..<3 {
                var channels: [EmbeddedChannel] = []
                for _ in 0..<limit {
                    let channel = try #require(try accepting.accept())
                    // A request that has begun: the connection is not idle.
                    try channel.writeInbound(ByteBuffer(string: "GET"))
                    channels.append(channel)
                }
                accepting.loop.advanceTime(by: IdleConnections.leastAge)
                #expect(try accepting.accept() == nil)
                #expect(accepting.service.connectionsOpen == limit)
                if other != "203.0.113.7" {
                    let channel = try accepting.accept(from: other)
                    #expect(channel != nil && accepting.service.connectionsOpen == limit + 1)
                    accepting.close(channel)
                }
                for channel in channels { accepting.close(channel) }
                #expect(accepting.service.connectionsOpen == 0)
            }
            #expect(accepting.service.connectionsEvicted == 0)
        }
    }

    @Test("A new connection takes the place of one that has sent nothing")
    func evicted() throws {
        let accepting = Accepting(connections: 1)
        let first = try #require(try accepting.accept())
        accepting.loop.advanceTime(by: IdleConnections.leastAge)
        let second = try #require(try accepting.accept())
        accepting.loop.run()
        #expect(!first.isActive && second.isActive)
        #expect(accepting.service.connectionsEvicted == 1 && accepting.service.connectionsOpen == 1)
        accepting.close(second)
        #expect(accepting.service.connectionsOpen == 0)
    }
}
