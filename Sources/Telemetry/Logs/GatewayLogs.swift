internal import FoundationEssentials
package import Logging
package import Settings
package import SettingsReader

/// Where a log goes, and in which form.
package struct LogPlace: Sendable {
    let output: LogOutput
    package let format: LogFormat

    package var write: @Sendable ([UInt8]) -> Int { { [output] in output.write($0) } }

    var applicationEncoder: ApplicationEncoder { ApplicationEncoder(format, hasColours: hasColours) }

    /// No colours for who wants none (`NO_COLOR`, no-color.org), for terminals that have none, and for pipes and files.
    private var hasColours: Bool {
        let environment = ProcessInfo.processInfo.environment
        return output.isTerminal && environment["TERM"] != "dumb" && environment["NO_COLOR"]?.isEmpty != false
    }
}

/// Where the logs of one reading of the settings go.
package struct LogPlaces: Sendable {
    let application: LogPlace
    package let access: LogPlace
    package let audit: LogPlace
}

/// The logs of a gateway: its own lines, and the files that all of its logs are written to.
package final class GatewayLogs: Sendable {
    private let level: SharedLogLevel
    private let outputs: LogOutputs
    private let application: ApplicationLog
    private let format: LogFormat

    /// - Throws: ``SettingsErrors`` that name the file which cannot be written to.
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

    /// Has a crash leave a line on standard error, in the form of its own log. Call it once, at the start.
    package func reportCrashes() { CrashReport.install(format) }

    /// Lines of its own that were not written.
    package var lost: Int { application.lost }

    /// Opens what `settings` name, without writing to it.
    ///
    /// - Throws: ``SettingsErrors`` that name the file which cannot be written to.
    package func places(_ settings: GatewaySettings) throws(SettingsErrors) -> LogPlaces {
        let logging = settings.logging
        let audit: LogDestinationSetting =
            if case .file(let path) = settings.audit.log { .file(path) } else { .standardOutput }
        return LogPlaces(
            application: try Self.place(logging.destination, "logging.file", settings, in: outputs),
            access: try Self.place(logging.accessDestination, "logging.access_log_file", settings, in: outputs),
            audit: try Self.place(audit, "audit.log", settings, in: outputs, isPrivate: true))
    }

    /// The least level of its own lines, until ``resetLevel(_:)``.
    package var leastLevel: Logger.Level {
        get { level.value }
        set { level.value = newValue }
    }

    /// The settings' level takes the place of one that an operator has set.
    package func resetLevel(_ settings: LoggingSettings) { level.value = Logger.Level(settings.level) }

    /// The places of other settings take over.
    package func adopt(_ places: LogPlaces) {
        application.use(places.application.applicationEncoder, write: places.application.write)
    }

    /// Opens all files anew.
    ///
    /// - Returns: what stands against it; these files are written on as they are.
    package func reopen() -> [LogError] { outputs.reopen() }

    /// Writes what is left to write.
    package func close() { application.shutdown() }

    private static func place(
        _ destination: LogDestinationSetting, _ key: String, _ settings: GatewaySettings, in outputs: LogOutputs,
        isPrivate: Bool = false
    ) throws(SettingsErrors) -> LogPlace {
        do throws(LogError) {
            let output = try outputs.output(for: LogDestination(destination), isPrivate: isPrivate)
            let format = settings.logging.format
            let isText = format == .text || (format == .auto && output.isTerminal)
            return LogPlace(output: output, format: isText ? .text : LogFormat(settings.logging.schema))
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
