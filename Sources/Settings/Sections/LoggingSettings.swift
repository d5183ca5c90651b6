/// The levels of swift-log, by their names there.
package enum LogLevelSetting: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

/// What is written to the standard streams.
package struct LoggingSettings: Sendable {
    /// The least level of the gateway's own log.
    package var level: LogLevelSetting
    /// One JSON line for each request.
    package var accessLog: Bool
}

extension LoggingSettings {
    init(reading keys: SettingsMapping) {
        level = keys.value("level", .oneOf, default: .info)
        accessLog = keys.value("access_log", .boolean, default: true)
    }
}
