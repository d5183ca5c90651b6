/// How servers are asked whether they are well.
package struct HealthSettings: Sendable {
    package var path: String
    package var interval: Duration
    package var timeout: Duration
    /// Good answers in a row that make an unhealthy server healthy.
    package var healthyAfter: Int
    /// Bad answers in a row that make a healthy server unhealthy.
    package var unhealthyAfter: Int

    init?(reading keys: SettingsMapping) {
        interval = keys.value("interval", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(5))
        timeout = keys.value("timeout", .duration(.milliseconds(10) ... .seconds(60)), default: .seconds(2))
        healthyAfter = keys.value("healthy_after", .integer(1...100), default: 2)
        unhealthyAfter = keys.value("unhealthy_after", .integer(1...100), default: 3)
        guard let path = keys.required("path", .requestPath) else { return nil }
        self.path = path
    }
}

/// When a server that fails real requests is left alone.
package struct EjectionSettings: Sendable {
    /// Failures in a row; 0 for never.
    package var after: Int
    /// Statuses that count as failures.
    package var statuses: [Int]
    /// Of how many different paths, and clients' addresses, requests must be that fail once sent.
    package var paths: Int
    package var clients: Int
    /// The percentage of servers that may be out at once.
    package var largestShare: Int
    package var first: Duration
    package var longest: Duration
    package var slowReturn: Duration
    /// Whether the last server that serves is ejected as well.
    package var onlyServer: Bool

    init(reading keys: SettingsMapping) {
        after = keys.value("after", .integer(0...10_000), default: 5)
        statuses = keys.list("statuses", .integer(500...599), of: "statuses") ?? [502, 503, 504]
        paths = keys.value("paths", .integer(1...16), default: 2)
        clients = keys.value("clients", .integer(1...16), default: 2)
        largestShare = keys.value("largest_share", .percent, default: 10)
        first = keys.value("first", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(10))
        longest = keys.value("longest", .duration(.milliseconds(100) ... .seconds(86_400)), default: .seconds(300))
        slowReturn = keys.value("slow_return", .duration(.zero ... .seconds(3600)), default: .seconds(30))
        onlyServer = keys.value("only_server", .boolean, default: false)
        if longest < first { keys.fault(keys.has("longest") ? "longest" : "first", "longest must not be below first") }
    }
}

extension ScalarFormat where Value == String {
    /// A request's path, perhaps with a query.
    fileprivate static var requestPath: Self {
        Self(schema: .path) { (text) throws(ScalarRefusal) in
            guard text.hasPrefix("/"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains("#") else {
                throw ScalarRefusal("must be a path like /health")
            }
            return text
        }
    }
}
