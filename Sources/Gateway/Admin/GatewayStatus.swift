internal import Synchronization
internal import Telemetry

/// How the gateway fares as a whole, for readiness and metrics. Readable from anywhere.
final class GatewayStatus: Sendable {
    private struct State {
        var keyServices: [KeySetService] = []
        var accessLog: AccessLog?
        var reloads: MetricsReadings.Reloads
        var isDraining = false
    }

    private let state: Mutex<State>

    /// - Parameter now: seconds since 1970.
    init(now: Int64) {
        state = Mutex(State(reloads: MetricsReadings.Reloads(lastSuccess: now)))
    }

    /// Tells of `generation` from now on.
    func follow(_ generation: Generation) {
        state.withLock {
            $0.keyServices = generation.plan.keyServices
            $0.accessLog = generation.accessLog
        }
    }

    /// - Parameter now: seconds since 1970.
    func reloaded(now: Int64) {
        state.withLock {
            $0.reloads.succeeded += 1
            $0.reloads.lastSuccess = now
        }
    }

    func reloadFailed() { state.withLock { $0.reloads.failed += 1 } }

    func beginDraining() { state.withLock { $0.isDraining = true } }

    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Whether the tokens of every issuer can be verified.
    var hasKeySets: Bool { state.withLock { $0.keyServices }.allSatisfy { $0.currentSet != nil } }

    var readings: MetricsReadings {
        let state = state.withLock { $0 }
        return MetricsReadings(
            keySets: state.keyServices.map(GatewayMetrics.reading), reloads: state.reloads,
            accessLogDropped: state.accessLog?.dropped ?? 0, isReady: !state.isDraining && hasKeySets)
    }
}
