internal import Encoding
package import Settings

/// Samples successful requests that would fill the log, such as health checks: one in every configured number is
/// logged, beginning with the first. Failed requests are always logged.
package struct AccessSampler: Sendable {
    private var routes: [Sample]
    private var paths: [ExactText: Sample]

    private struct Sample {
        let every: Int
        var left = 0

        /// Whether the next request is omitted.
        mutating func leavesOut() -> Bool {
            defer { left = left == 0 ? every - 1 : left - 1 }
            return left > 0
        }
    }

    /// - Parameters:
    ///   - everyOfRoute: for each route, the sampling interval N: one in N requests is logged.
    ///   - everyOfPath: the same for each path without query. It takes precedence over the route's.
    package init(everyOfRoute: [Int], everyOfPath: [String: Int]) {
        routes = everyOfRoute.map { Sample(every: $0) }
        paths = Dictionary(uniqueKeysWithValues: everyOfPath.map { (ExactText($0), Sample(every: $1)) })
    }

    /// Returns whether a request is omitted from the log.
    ///
    /// - Parameter target: path and query as received.
    package mutating func leavesOut(route: Int?, target: String?, status: Int) -> Bool {
        guard status < 400 else { return false }
        if !paths.isEmpty, let target {
            let path = ExactText(String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") })))
            if paths[path] != nil { return paths[path]?.leavesOut() == true }
        }
        guard let route, routes.indices.contains(route), routes[route].every > 1 else { return false }
        return routes[route].leavesOut()
    }
}

extension AccessSampler {
    /// Nil if every request is logged.
    package init?(_ settings: GatewaySettings, routes: [String]) {
        var everyOfRoute = [Int](repeating: 1, count: routes.count)
        var everyOfPath: [String: Int] = [:]
        for sampling in settings.logging.accessSampling {
            switch sampling.requests {
            case .path(let path): everyOfPath[path] = sampling.every
            case .route(let name):
                if let index = routes.firstIndex(of: name) { everyOfRoute[index] = sampling.every }
            }
        }
        guard !settings.logging.accessSampling.isEmpty else { return nil }
        self.init(everyOfRoute: everyOfRoute, everyOfPath: everyOfPath)
    }
}
