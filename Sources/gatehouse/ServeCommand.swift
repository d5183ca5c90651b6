import ArgumentParser
import Gateway
import Glibc
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
        let logs = try logs(settings)
        // Whatever ends it, what was said is written.
        defer { logs.close() }
        let logger = logs.logger
        let gateway = GatewayService(settings: settings, load: { [options] in try options.read() }, logs: logs) {
            listeners, admin in
            for address in listeners { logger.info("listening", metadata: ["address": "\(address)"]) }
            if let admin { logger.info("admin listening", metadata: ["address": "\(admin)"]) }
        }
        let lifecycle = logs.logger(of: .error)
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

    /// - Throws: exit status 78 (EX_CONFIG of sysexits) after saying which file cannot be written to.
    private func logs(_ settings: GatewaySettings) throws -> GatewayLogs {
        do {
            return try GatewayLogs(settings)
        } catch {
            StandardError.write("\(options.config): \(error)\n")
            throw ExitCode(EX_CONFIG)
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
