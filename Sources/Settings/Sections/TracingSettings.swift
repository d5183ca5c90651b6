package import Cryptography
internal import SettingsReader

/// The export of spans and metrics, and the sampling of requests.
package struct TracingSettings: Sendable, Equatable {
    /// The URL that spans are posted to (OTLP over HTTP).
    package var endpoint: ServiceURL
    /// The URL that metrics are posted to; nil: none are sent.
    package var metricsEndpoint: ServiceURL?
    package var metricsInterval: Duration
    package var headers: [TracingHeaderSetting]
    /// The sampled fraction of the traces that begin here, from 0 to 1.
    package var sampling: Double
    /// Whether a client's trace is sampled exactly if the client sampled it.
    package var followsClient: Bool
    package var serviceName: String
    /// The resource attributes, besides the service's name.
    package var attributes: [TracingAttributeSetting]
    /// The time limit of one export.
    package var timeout: Duration
    /// The maximum number of spans that wait for export.
    package var queue: Int
}

package struct TracingHeaderSetting: Sendable, Equatable {
    package var name: String
    package var value: Secret
}

package struct TracingAttributeSetting: Sendable, Equatable {
    package var name: String
    package var value: String
}

extension TracingSettings {
    init?(reading keys: SettingsMapping) {
        let insecure = keys.value("allow_insecure_http", .boolean, default: false)
        func url(_ node: SettingsNode?) -> ServiceURL? {
            let url = node?.read(.url)
            if url?.isPlain == true, !insecure {
                node?.error(
                    "spans and metrics contain data about requests: https only, unless allow_insecure_http is true")
            }
            return url
        }
        let endpoint = url(keys.required("endpoint"))
        metricsEndpoint = url(keys.optional("metrics_endpoint"))
        metricsInterval = keys.value(
            "metrics_interval", .duration(.seconds(1) ... .seconds(3600)), default: .seconds(60))
        headers = keys.optional("headers").map(Self.headers) ?? []
        sampling = keys.value("sampling", .share, default: 1)
        followsClient = keys.value("follow_client", .boolean, default: true)
        serviceName = keys.value("service_name", .text, default: "gatehouse")
        attributes =
            keys.optional("attributes")?.elements(expected: "attributes")?.compactMap { element in
                element.section(TracingAttributeSetting.init(reading:)) ?? nil
            } ?? []
        timeout = keys.value("timeout", .duration(.milliseconds(100) ... .seconds(60)), default: .seconds(5))
        queue = keys.value("queue", .integer(64...1_000_000), default: 8192)
        guard let endpoint else { return nil }
        self.endpoint = endpoint
    }
}

extension TracingSettings {
    /// Whether one of the endpoints is reached without TLS.
    package var allowsPlainText: Bool { endpoint.isPlain || metricsEndpoint?.isPlain == true }

    private static func headers(_ node: SettingsNode) -> [TracingHeaderSetting] {
        node.entries().compactMap { name, entry in
            guard let value = entry.readSecret() else { return nil }
            guard value.expose().allSatisfy({ (0x20...0x7E).contains($0) }) else {
                entry.error("must hold only visible ASCII characters and spaces")
                return nil
            }
            return TracingHeaderSetting(name: name, value: value)
        }
    }
}

extension TracingAttributeSetting {
    fileprivate init?(reading keys: SettingsMapping) {
        let name = keys.required("name", .identifier)
        guard let value = keys.required("value", .text), let name else { return nil }
        self.init(name: name, value: value)
    }
}

extension ScalarFormat where Value == Double {
    /// A decimal fraction from 0 to 1.
    fileprivate static var share: Self {
        Self { (text) throws(ScalarRefusal) in
            let isDecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
            guard isDecimal, let value = Double(text), (0...1).contains(value) else {
                throw ScalarRefusal("must be a number from 0 to 1, such as 0.05")
            }
            return value
        }
    }
}
