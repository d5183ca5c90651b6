internal import Locking
package import NIOCore
package import Telemetry

/// The gateways of all event loops. It distributes changes to them at run time.
package final class LoopDirectory: Sendable {
    private let gateways = Locked<[NIOLoopBound<LoopGateway>]>([])

    package init() {}

    package func set(_ gateways: [NIOLoopBound<LoopGateway>]) {
        self.gateways.withLock { $0 = gateways }
    }

    /// The gateway of an event loop; nil if the loop accepts no connections.
    package func gateway(on eventLoop: any EventLoop) -> LoopGateway? {
        gateways.withLock { $0.first { $0.eventLoop === eventLoop } }?.value
    }

    /// Installs `plan` on every loop. Work that is submitted to a loop later runs with the new plan.
    ///
    /// - Parameter metrics: one element for each loop, in the order of ``set(_:)``.
    package func install(_ plan: ServingPlan, _ metrics: [LoopMetrics]) -> [EventLoopFuture<Void>] {
        zip(gateways.withLock { $0 }, metrics).map { gateway, metrics in
            gateway.eventLoop.submit { gateway.value.install(plan, metrics: metrics) }
        }
    }

    /// Makes every loop reload the issuers' key sets after one has changed.
    package func refreshKeySets() {
        for gateway in gateways.withLock({ $0 }) {
            gateway.eventLoop.execute { gateway.value.refreshKeySets() }
        }
    }

    /// Applies the current list of drained servers on every loop. Returns when all loops use it.
    package func refreshDrainedServers() async {
        let readings = gateways.withLock { $0 }.map { gateway in
            gateway.eventLoop.submit { gateway.value.refreshDrainedServers() }
        }
        for loop in readings {
            // Throws only when the loop has shut down, and then its gateway is gone as well.
            try? await loop.get()
        }
    }

    /// Applies the current revocations on every loop. Returns when all loops use them.
    package func refreshRevocations() async {
        let readings = gateways.withLock { $0 }.map { gateway in
            gateway.eventLoop.submit { gateway.value.refreshRevocations() }
        }
        for loop in readings {
            // Throws only when the loop has shut down, and then its gateway is gone as well.
            try? await loop.get()
        }
    }

    /// Removes the tokens of a subject from the caches of all loops. Returns when all loops have done so.
    package func forgetTokens(of subject: String) async {
        let loops = gateways.withLock { $0 }.map { gateway in
            gateway.eventLoop.submit { gateway.value.forgetTokens(of: subject) }
        }
        for loop in loops {
            // Throws only when the loop has shut down, and then its gateway is gone as well.
            try? await loop.get()
        }
    }

    /// Makes every loop reload the assertion keys and the published key set.
    package func refreshAssertionKeys() {
        for gateway in gateways.withLock({ $0 }) {
            gateway.eventLoop.execute { gateway.value.refreshAssertionKeys() }
        }
    }

    /// Passes the finished spans of every loop to the exporter. Returns when all loops have done so.
    package func handOverSpans() async {
        for gateway in gateways.withLock({ $0 }) {
            // Throws only when the loop has shut down, and then its gateway is gone as well.
            try? await gateway.eventLoop.submit { gateway.value.handOverSpans() }.get()
        }
    }

    /// Distributes the result of a health check to every loop.
    package func publish(isHealthy: Bool, server: Int, ofUpstream number: UInt64) {
        for gateway in gateways.withLock({ $0 }) {
            gateway.eventLoop.execute {
                gateway.value.current.setHealthy(isHealthy, server: server, ofUpstream: number)
            }
        }
    }

    package func close() async {
        for gateway in gateways.withLock({ $0 }) {
            // Throws only when the loop has shut down, and then its gateway is gone as well.
            try? await gateway.eventLoop.submit { gateway.value.close() }.get()
        }
    }
}
