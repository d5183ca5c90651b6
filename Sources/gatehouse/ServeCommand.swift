import ArgumentParser
import Gateway
import Logging
import ServiceLifecycle
import Settings
import UnixSignals

/// `gatehouse serve`: the gateway itself.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway.",
        discussion: """
            Stops at SIGTERM or SIGINT: no new connections, what is in flight finishes within drain_timeout.
            Exit status 78 means that the configuration is faulty; every fault is printed.

            Example: gatehouse serve --config Config/gatehouse.yaml
            """)

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        let settings = try options.load()
        var logger = Logger(label: "gatehouse") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = Logger.Level(settings.logging.level)
        let gateway = GatewayService(settings: settings, logger: logger) { [logger] listeners, admin in
            for address in listeners { logger.info("listening", metadata: ["address": "\(address)"]) }
            if let admin { logger.info("admin listening", metadata: ["address": "\(admin)"]) }
        }
        var lifecycle = logger
        lifecycle.logLevel = .error
        do {
            try await ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [.init(service: gateway, successTerminationBehavior: .gracefullyShutdownGroup)],
                    gracefulShutdownSignals: [.sigterm, .sigint], logger: lifecycle)
            ).run()
        } catch {
            logger.critical("cannot run", metadata: ["error": "\(error)"])
            throw ExitCode.failure
        }
    }
}

/// `gatehouse check`: says whether a configuration is good, without starting anything.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a configuration and report every fault at once.",
        discussion: """
            Exit status 0: good; 78: faulty.

            Example: gatehouse check --config Config/gatehouse.yaml
            """)

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        let settings = try options.load()
        print(
            "\(options.config): good: \(settings.routes.count) routes, \(settings.upstreams.count) upstreams, "
                + "\(settings.issuers.count) issuers")
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
