internal import Clocks
internal import Curl
internal import Logging
internal import Pipeline
internal import Telemetry
internal import Upstream

/// The upstream pools of one event loop.
extension LoopService {
    /// Returns a new pool with the known health and drain states of its servers.
    static func pool(
        _ index: Int, _ plan: ServingPlan, _ curl: CurlLoop, _ metrics: LoopMetrics
    ) -> UpstreamPool {
        let upstream = plan.upstreams[index]
        // A pool may outlive its plan by many reloads, and must not retain it.
        let (first, logger, recent) = (plan.firstServer(of: index), plan.logger, plan.recent)
        func report(_ message: Logger.Message, _ server: Int, _ reason: String) {
            logger.debug(
                message,
                metadata: [
                    "upstream": "\(upstream.settings.name)", "server": "\(upstream.settings.servers[server].name)",
                    "reason": "\(reason)",
                ])
        }
        let pool = UpstreamPool(settings: upstream.settings, loop: curl) { event in
            switch event {
            case .opened: metrics.upstreamConnectionOpened(index)
            case .reused: metrics.upstreamConnectionReused(index)
            case .retried: metrics.upstreamRetried(index)
            }
        } observeServer: { server, event in
            switch event {
            case .began: metrics.serverBegan(first + server)
            case .ended: metrics.serverEnded(first + server)
            case .failed: metrics.serverFailed(first + server)
            case .erred(let error, let requestID):
                recent.serverErred(
                    upstream.settings.servers[server].name, of: upstream.settings.name, error.text,
                    requestID: requestID, at: WallClock.seconds())
            case .ejected(let reason):
                metrics.serverEjected(first + server)
                report("server ejected by an event loop", server, reason)
            case .ejectionWithheld(let reason):
                metrics.serverEjectionWithheld(first + server)
                report("server not ejected: it is the last one, or enough others are", server, reason)
            case .unsolicited(let more): metrics.serverSentUnsolicited(more: more, at: first + server)
            case .idle(let more): metrics.connectionsIdle(more: more, at: first + server)
            case .serving(let serving):
                metrics.server(first + server, isServing: serving, at: WallClock.seconds())
            }
        }
        for server in upstream.knownUnhealthy { pool.setHealthy(false, server: server) }
        for (number, server) in upstream.settings.servers.enumerated()
        where plan.drainedServers.contains(server.name, of: upstream.settings.name) {
            pool.setDrained(true, server: number)
        }
        return pool
    }

    var upstreamNumbers: [UInt64] { plan.upstreams.map(\.number) }

    /// Sets the health of a server. Upstreams keep their numbers in all plans. A number that is not in this plan
    /// belongs to a replaced upstream and is ignored.
    func setHealthy(_ healthy: Bool, server: Int, ofUpstream number: UInt64) {
        guard let index = plan.upstreams.firstIndex(where: { $0.number == number }) else { return }
        pools[index].setHealthy(healthy, server: server)
    }

    /// Applies the current list of servers that an operator has drained.
    func refreshDrainedServers() {
        for (upstream, pool) in zip(plan.upstreams, pools) {
            for (number, server) in upstream.settings.servers.enumerated() {
                pool.setDrained(
                    plan.drainedServers.contains(server.name, of: upstream.settings.name), server: number)
            }
        }
    }

    /// Closes the pools that `successor` has not taken over. Requests in flight keep their connections.
    func letGo(inFavourOf successor: LoopService) {
        for index in PoolSuccession(from: upstreamNumbers, to: successor.upstreamNumbers).left { pools[index].close() }
    }

    func close() {
        for pool in pools { pool.close() }
    }
}
