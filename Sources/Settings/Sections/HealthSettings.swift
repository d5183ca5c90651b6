internal import NIOCore
internal import Pipeline
internal import SettingsReader

extension HealthCheckSettings {
    init?(reading keys: SettingsMapping) {
        let interval = keys.value("interval", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(5))
        let timeout = keys.value("timeout", .duration(.milliseconds(10) ... .seconds(60)), default: .seconds(2))
        let healthyAfter = keys.value("healthy_after", .integer(1...100), default: 2)
        let unhealthyAfter = keys.value("unhealthy_after", .integer(1...100), default: 3)
        guard let path = keys.required("path", .requestPath) else { return nil }
        self.init(
            path: path, interval: interval, timeout: timeout, healthyAfter: healthyAfter,
            unhealthyAfter: unhealthyAfter)
    }
}

extension EjectionPolicy {
    init(reading keys: SettingsMapping) {
        self.init()
        after = keys.value("after", .integer(0...10_000), default: after)
        statuses = keys.list("statuses", .integer(500...599), of: "statuses")?.sorted() ?? statuses
        paths = keys.value("paths", .integer(1...16), default: paths)
        clients = keys.value("clients", .integer(1...16), default: clients)
        largestShare = keys.value("largest_share", .percent, default: largestShare)
        let first = keys.value("first", .duration(.milliseconds(100) ... .seconds(3600)), default: .seconds(10))
        self.first = TimeAmount(first)
        let longest = keys.value("longest", .duration(.milliseconds(100) ... .seconds(86_400)), default: .seconds(300))
        self.longest = TimeAmount(longest)
        slowReturn = TimeAmount(
            keys.value("slow_return", .duration(.zero ... .seconds(3600)), default: .seconds(30)))
        ejectsLastServer = keys.value("only_server", .boolean, default: ejectsLastServer)
        if longest < first { keys.error(keys.has("longest") ? "longest" : "first", "longest must not be below first") }
    }
}

extension ScalarFormat where Value == String {
    /// A request's path with an optional query.
    fileprivate static var requestPath: Self {
        Self(schema: .path) { (text) throws(ScalarRefusal) in
            guard text.hasPrefix("/"), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains("#") else {
                throw ScalarRefusal("must be a path like /health")
            }
            return text
        }
    }
}
