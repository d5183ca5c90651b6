internal import FoundationEssentials
package import Logging
package import Settings
package import SettingsReader

/// The output and the format of a log.
package struct LogSink: Sendable {
    let output: LogOutput
    package let format: LogFormat

    package var write: @Sendable ([UInt8]) -> Int { { [output] in output.write($0) } }

    var applicationEncoder: ApplicationEncoder { ApplicationEncoder(format, hasColours: hasColours) }

    /// Whether text is coloured: only on terminals that support it, and not if the user disables colours (`NO_COLOR`,
    /// no-color.org).
    private var hasColours: Bool {
        let environment = ProcessInfo.processInfo.environment
        return output.isTerminal && environment["TERM"] != "dumb" && environment["NO_COLOR"]?.isEmpty != false
    }
}

/// The outputs of all logs for one reading of the settings.
package struct LogSinks: Sendable {
    let application: LogSink
    package let access: LogSink
    package let audit: LogSink
}

/// The logs of a gateway: its application log, and the files that all logs are written to.
package final class GatewayLogs: Sendable {
    private let level: SharedLogLevel
    private let outputs: LogOutputs
    private let application: ApplicationLog
    private let format: LogFormat

    /// - Throws: ``SettingsErrors`` with the file that cannot be written to.
    package init(_ settings: GatewaySettings) throws(SettingsErrors) {
        level = SharedLogLevel(Logger.Level(settings.logging.level))
        outputs = LogOutputs()
        let place = try Self.place(settings.logging.destination, "logging.file", settings, in: outputs)
        format = place.format
        application = ApplicationLog(place.applicationEncoder, write: place.write)
    }

    package var logger: Logger {
        Logger(label: "gatehouse") { [application, level] _ in
            ApplicationLogHandler(application, level: level, provider: SpanContext.metadata)
        }
    }

    /// Makes a crash write a line to standard error, in the format of the application log. Call it once, at the start.
    package func reportCrashes() { CrashReport.install(format) }

    /// The number of application log lines that were not written.
    package var lost: Int { application.lost }

    /// Opens the outputs that `settings` name, without writing to them.
    ///
    /// - Throws: ``SettingsErrors`` with the file that cannot be written to.
    package func places(_ settings: GatewaySettings) throws(SettingsErrors) -> LogSinks {
        let logging = settings.logging
        let audit: LogDestinationSetting =
            if case .file(let path) = settings.audit.log { .file(path) } else { .standardOutput }
        return LogSinks(
            application: try Self.place(logging.destination, "logging.file", settings, in: outputs),
            access: try Self.place(logging.accessDestination, "logging.access_log_file", settings, in: outputs),
            audit: try Self.place(audit, "audit.log", settings, in: outputs, isPrivate: true))
    }

    /// The minimum level of the application log, until ``resetLevel(_:)``.
    package var leastLevel: Logger.Level {
        get { level.value }
        set { level.value = newValue }
    }

    /// Replaces a level that an operator has set by the settings' level.
    package func resetLevel(_ settings: LoggingSettings) { level.value = Logger.Level(settings.level) }

    /// Switches the application log to the outputs of new settings.
    package func adopt(_ places: LogSinks) {
        application.use(places.application.applicationEncoder, write: places.application.write)
    }

    /// Reopens all files.
    ///
    /// - Returns: an error for each file that cannot be reopened; it is still written to through its old descriptor.
    package func reopen() -> [LogError] { outputs.reopen() }

    /// Writes the remaining lines and stops the application log.
    package func close() { application.shutdown() }

    private static func place(
        _ destination: LogDestinationSetting, _ key: String, _ settings: GatewaySettings, in outputs: LogOutputs,
        isPrivate: Bool = false
    ) throws(SettingsErrors) -> LogSink {
        do throws(LogError) {
            let output = try outputs.output(for: LogDestination(destination), isPrivate: isPrivate)
            let format = settings.logging.format
            let isText = format == .text || (format == .auto && output.isTerminal)
            return LogSink(output: output, format: isText ? .text : LogFormat(settings.logging.schema))
        } catch {
            throw SettingsErrors(errors: [settings.error(of: key, "\(error)")])
        }
    }
}

extension LogFormat {
    fileprivate init(_ schema: LogSchemaSetting) {
        self =
            switch schema {
            case .gatehouse: .json
            case .ecs: .otherJSON(.ecs)
            case .otel: .otherJSON(.otel)
            }
    }
}

extension LogDestination {
    fileprivate init(_ setting: LogDestinationSetting) {
        self =
            switch setting {
            case .standardOutput: .standardOutput
            case .standardError: .standardError
            case .file(let path): .file(path)
            }
    }
}

extension Logger.Level {
    init(_ level: LogLevelSetting) {
        self =
            switch level {
            case .trace: .trace
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            case .critical: .critical
            }
    }
}
