internal import Locking
package import NIOCore
package import Telemetry

/// The gateways of all event loops, to give each of them what changes while they run.
package final class LoopDirectory: Sendable {
    private let gateways = Locked<[NIOLoopBound<LoopGateway>]>([])

    package init() {}

    package func set(_ gateways: [NIOLoopBound<LoopGateway>]) {
        self.gateways.withLock { $0 = gateways }
    }

    /// The gateway of a loop that connections are accepted on.
    package func gateway(on eventLoop: any EventLoop) -> LoopGateway? {
        gateways.withLock { $0.first { $0.eventLoop === eventLoop } }?.value
    }

    /// Lets every loop serve by `plan`; what is asked of a loop later finds it there.
    ///
    /// - Parameter metrics: one for each loop, in the order of ``set(_:)``.
    package func install(_ plan: ServingPlan, _ metrics: [LoopMetrics]) -> [EventLoopFuture<Void>] {
        zip(gateways.withLock { $0 }, metrics).map { gateway, metrics in
            gateway.eventLoop.submit { gateway.value.install(plan, metrics: metrics) }
        }
    }

    /// Some issuer's key set has changed.
    package func refreshKeySets() {
        for gateway in gateways.withLock({ $0 }) {
            gateway.eventLoop.execute { gateway.value.refreshKeySets() }
        }
    }

    /// Returns when every loop goes by the servers that are taken out now.
    package func refreshDrainedServers() async {
        let readings = gateways.withLock { $0 }.map { gateway in
            gateway.eventLoop.submit { gateway.value.refreshDrainedServers() }
        }
        for loop in readings {
            // Fails only when the loop is gone, and the gateway with it.
            try? await loop.get()
        }
    }

    /// Returns when every loop goes by the revocations of now.
    package func refreshRevocations() async {
        let readings = gateways.withLock { $0 }.map { gateway in
            gateway.eventLoop.submit { gateway.value.refreshRevocations() }
        }
        for loop in readings {
            // Fails only when the loop is gone, and the gateway with it.
            try? await loop.get()
        }
    }

    /// Returns when no loop knows the tokens of a subject any more.
    package func forgetTokens(of subject: String) async {
        let loops = gateways.withLock { $0 }.map { gateway in
            gateway.eventLoop.submit { gateway.value.forgetTokens(of: subject) }
        }
        for loop in loops {
            // Fails only when the loop is gone, and the gateway with it.
            try? await loop.get()
        }
    }

    /// Assertions are signed with another key, or another set of keys is published.
    package func refreshAssertionKeys() {
        for gateway in gateways.withLock({ $0 }) {
            gateway.eventLoop.execute { gateway.value.refreshAssertionKeys() }
        }
    }

    /// Returns when every loop has handed over what it has traced until now.
    package func handOverSpans() async {
        for gateway in gateways.withLock({ $0 }) {
            // Fails only when the loop is gone, and the gateway with it.
            try? await gateway.eventLoop.submit { gateway.value.handOverSpans() }.get()
        }
    }

    /// Tells every loop what a health check has found.
    package func publish(isHealthy: Bool, server: Int, ofUpstream number: UInt64) {
        for gateway in gateways.withLock({ $0 }) {
            gateway.eventLoop.execute {
                gateway.value.current.setHealthy(isHealthy, server: server, ofUpstream: number)
            }
        }
    }

    package func close() async {
        for gateway in gateways.withLock({ $0 }) {
            // Fails only when the loop is gone, and the gateway with it.
            try? await gateway.eventLoop.submit { gateway.value.close() }.get()
        }
    }
}
