internal import NIOCore
internal import Pipeline
internal import Synchronization

/// The services of all event loops, to give each of them what changes while they run.
final class LoopDirectory: Sendable {
    private let services = Mutex<[NIOLoopBound<LoopService>]>([])
    private let held: Mutex<[Bool]>

    init(issuerCount: Int) {
        held = Mutex(Array(repeating: false, count: issuerCount))
    }

    func set(_ services: [NIOLoopBound<LoopService>]) {
        self.services.withLock { $0 = services }
    }

    /// The service of a loop that connections are accepted on.
    func service(on eventLoop: any EventLoop) -> LoopService? {
        services.withLock { $0.first { $0.eventLoop === eventLoop } }?.value
    }

    func publish(_ keySet: KeySet?, ofIssuer index: Int) {
        held.withLock { $0[index] = keySet != nil }
        for service in services.withLock({ $0 }) {
            service.eventLoop.execute { service.value.use(keySet, ofIssuer: index) }
        }
    }

    /// Tells every loop what a health check has found.
    func publish(isHealthy: Bool, server: Int, ofUpstream upstream: Int) {
        for service in services.withLock({ $0 }) {
            service.eventLoop.execute {
                service.value.setHealthy(isHealthy, server: server, ofUpstream: upstream)
            }
        }
    }

    /// Whether each issuer has a key set to verify with.
    var keySetsHeld: [Bool] { held.withLock { $0 } }

    func close() async {
        for service in services.withLock({ $0 }) {
            // Fails only when the loop is gone, and the service with it.
            try? await service.eventLoop.submit { service.value.close() }.get()
        }
    }
}
