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
            At SIGHUP it reads the configuration and all files named there again, and goes on with them as a whole, or
            with what it has if any of it is faulty, which the log tells. No connection ends and no request is lost.
            Exit status 78 means that the configuration is faulty; every fault is printed.

            Example: gatehouse serve --config Config/gatehouse.yaml
            """)

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        // From here on a SIGHUP does not end the process.
        let hangUps = await UnixSignalsSequence(trapping: .sighup)
        let settings = try options.load()
        let level = SharedLogLevel(Logger.Level(settings.logging.level))
        let logger = Logger(label: "gatehouse") { SharedLevelLogHandler(label: $0, level: level) }
        let gateway = GatewayService(settings: settings, load: { [options] in try options.read() }, logger: logger) {
            listeners, admin in
            for address in listeners { logger.info("listening", metadata: ["address": "\(address)"]) }
            if let admin { logger.info("admin listening", metadata: ["address": "\(admin)"]) }
        } onReload: { settings in
            level.value = Logger.Level(settings.logging.level)
        }
        let lifecycle = Logger(label: "gatehouse") { label in
            SharedLevelLogHandler(label: label, level: SharedLogLevel(.error))
        }
        do {
            try await ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [
                        .init(service: gateway, successTerminationBehavior: .gracefullyShutdownGroup),
                        .init(
                            service: ReloadAtHangUp(hangUps: hangUps, gateway: gateway),
                            successTerminationBehavior: .ignore),
                    ],
                    gracefulShutdownSignals: [.sigterm, .sigint], logger: lifecycle)
            ).run()
        } catch {
            logger.critical("cannot run", metadata: ["error": "\(error)"])
            throw ExitCode.failure
        }
    }
}

/// Has the gateway reload at each SIGHUP.
private struct ReloadAtHangUp: Service {
    let hangUps: UnixSignalsSequence
    let gateway: GatewayService

    func run() async {
        for await _ in hangUps.cancelOnGracefulShutdown() { gateway.reload() }
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
