/// A backend, and how long the gateway waits for it.
package struct UpstreamSettings: Sendable {
    /// How routes and metrics name it.
    package var name: String
    /// Scheme, host and port; the path is empty.
    package var url: ServiceURL
    package var connectTimeout: Duration
    /// From the end of the request to the first byte of the response.
    package var firstByteTimeout: Duration
    /// Between two reads or writes of a body.
    package var idleTimeout: Duration
    /// How long a pooled connection is kept while unused.
    package var keepAlive: Duration
    /// Pooled connections kept while unused, per event loop.
    package var maximumIdleConnections: Int
}

extension UpstreamSettings {
    init?(name: String, node: SettingsNode) {
        let read = node.section { keys in
            Self(
                name: name,
                url: keys.required("url", .origin) ?? ServiceURL(scheme: .http, host: "", port: 0, path: ""),
                connectTimeout: keys.value("connect_timeout", .wait, default: .seconds(5)),
                firstByteTimeout: keys.value("first_byte_timeout", .wait, default: .seconds(30)),
                idleTimeout: keys.value("idle_timeout", .wait, default: .seconds(60)),
                keepAlive: keys.value("keep_alive", .duration(.zero ... .seconds(86_400)), default: .seconds(60)),
                maximumIdleConnections: keys.value(
                    "maximum_idle_connections", .integer(0...100_000), default: 128))
        }
        guard let read else { return nil }
        self = read
    }
}

extension ScalarFormat where Value == Duration {
    /// A timeout: long enough to be met, short enough to be one.
    static var wait: Self { .duration(.milliseconds(1) ... .seconds(86_400)) }
}
