internal import SettingsReader

/// The log levels of swift-log.
package enum LogLevelSetting: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// The format of all logs.
package enum LogFormatSetting: String, Sendable, CaseIterable {
    /// Text on a terminal, otherwise JSON.
    case auto
    case json
    case text
}

/// The naming scheme for the members of JSON lines.
package enum LogSchemaSetting: String, Sendable, CaseIterable {
    case gatehouse
    /// The Elastic Common Schema.
    case ecs
    /// OpenTelemetry's semantic conventions.
    case otel
}

/// The destination of a log.
package enum LogDestinationSetting: Sendable, Equatable {
    case standardOutput
    case standardError
    case file(String)
}

/// A sampling rule for the access log: of the successful requests of a route or path, one in ``every`` is logged.
package struct AccessSamplingSetting: Sendable, Equatable {
    package enum Requests: Sendable, Equatable {
        case route(String)
        case path(String)
    }

    package var requests: Requests
    package var every: Int
}

/// The contents and destinations of the logs.
package struct LoggingSettings: Sendable {
    /// The minimum level of the gateway's own log.
    package var level: LogLevelSetting
    package var format: LogFormatSetting
    package var schema: LogSchemaSetting
    /// The destination of the gateway's own log.
    package var destination: LogDestinationSetting
    /// Whether each request is logged.
    package var accessLog: Bool
    package var accessDestination: LogDestinationSetting
    package var accessSampling: [AccessSamplingSetting]
}

extension LoggingSettings {
    /// - Parameter routes: the names of the routes.
    init(reading keys: SettingsMapping, routes: [String]) {
        level = keys.value("level", .oneOf, default: .info)
        format = keys.value("format", .oneOf, default: .auto)
        schema = keys.value("schema", .oneOf, default: .gatehouse)
        if format == .text, schema != .gatehouse { keys.error("schema", "has no effect with format: text") }
        destination = keys.logDestination("file", default: .standardError, hint: "stderr and stdout are known")
        accessLog = keys.value("access_log", .boolean, default: true)
        accessDestination = keys.logDestination(
            "access_log_file", default: .standardOutput, hint: "access_log: false switches the log off")
        accessSampling =
            keys.optional("access_log_sampling")?.elements(expected: "sections")?.compactMap { element in
                element.section { AccessSamplingSetting(reading: $0, routes: routes) } ?? nil
            } ?? []
    }
}

extension AccessSamplingSetting {
    fileprivate init?(reading keys: SettingsMapping, routes: [String]) {
        let route = keys.value("route", .reference(to: "route", among: routes))
        let path = keys.value("path", .pathPrefix)
        if keys.has("route") == keys.has("path") { keys.node.error("must have either route or path") }
        let every = keys.required("every", .integer(2...1_000_000))
        guard let requests = route.map(Requests.route) ?? path.map(Requests.path), let every else { return nil }
        self.init(requests: requests, every: every)
    }
}

extension SettingsMapping {
    fileprivate func logDestination(
        _ name: String, default standard: LogDestinationSetting, hint: String
    ) -> LogDestinationSetting {
        guard let text = value(name, .logFile(hint: hint)) else { return standard }
        switch text {
        case "stdout": return .standardOutput
        case "stderr": return .standardError
        default:
            let path = node.context.resolve(path: text)
            note(.file, path, of: name)
            return .file(path)
        }
    }
}

extension ScalarFormat where Value == String {
    /// A log destination: a path, or one of the words `known`. Other words that YAML or people use for yes, no or
    /// nothing are rejected as file names, since they are meant to switch the log on or off.
    static func logFile(known: [String] = [], hint: String) -> Self {
        let words = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "none", "~"]
        // In the spellings that YAML and people use.
        let forms = Set(words.flatMap { [$0, $0.prefix(1).uppercased() + $0.dropFirst(), $0.uppercased()] })
        let refused = forms.subtracting(known).sorted()
        return Self(schema: ScalarSchema(.textBut(refused)), show: { $0 }) { (text) throws(ScalarRefusal) in
            guard !refused.contains(text) else {
                throw ScalarRefusal("is no file's name: \(hint), and ./\(text.lowercased()) is a file of this name")
            }
            return try ScalarFormat.text.read(text)
        }
    }
}
