internal import Allocator
internal import ArgumentParser
internal import FoundationEssentials
internal import Gateway
internal import Glibc
internal import Logging
internal import Settings
internal import SettingsReader
internal import Telemetry
internal import Tracing

/// `gatehouse serve`: runs the gateway.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gateway.",
        discussion: """
            SIGTERM or SIGINT stops the gateway: it accepts no new connections, and requests in flight finish \
            within drain_timeout. SIGHUP makes it read the configuration again, with all files named there. The \
            new configuration takes effect as a whole. If it has an error, the current one stays, and the log \
            names every error. No connection ends and no request is lost.

            Under systemd with Type=notify the gateway reports when it is ready, reloads and stops, and why a \
            reload failed.

            Exit status 78 means that the configuration has errors; all are printed. 70 means that the gateway \
            cannot start.

            Examples:
              gatehouse serve --config Config/gatehouse.yaml
              GATEHOUSE_CONFIG_YAML="$(cat gatehouse.yaml)" gatehouse serve
            """)

    @OptionGroup var argument: SettingsFile
    @OptionGroup var options: SettingsOptions

    func run() async throws {
        FreedMemory.keep()
        // From here on, SIGHUP does not end the process.
        let hangUps = await ProcessSignals(SIGHUP)
        let origin = try options.origin(argument)
        let settings = try origin.load()
        let environment = ProcessInfo.processInfo.environment
        let notification = SystemdNotification(environment: environment)
        let logs = try logs(settings)
        logs.reportCrashes()
        // Pending log lines are written on every exit.
        defer { logs.close() }
        let logger = logs.logger
        if let reason = DescriptorLimit.raise() {
            logger.warning("the limit of file descriptors stays as it is", metadata: ["reason": "\(reason)"])
        }
        let load = { @Sendable in try origin.read(environment: environment) }
        let tracing = CurrentTracing()
        // Spans that libraries create join the gateway's traces.
        InstrumentationSystem.bootstrap(GatewayTracer(tracing))
        let gateway = GatewayService(
            settings: settings, environment: environment, load: load, logs: logs, tracing: tracing
        ) { listeners, admin in
            for address in listeners { logger.info("listening", metadata: ["address": "\(address)"]) }
            if let admin { logger.info("admin listening", metadata: ["address": "\(admin)"]) }
            notification.ready(.serving)
        } onReload: { step in
            notification.report(step)
        }
        let ends = await ProcessSignals(SIGTERM, SIGINT)
        do {
            try await withThrowingDiscardingTaskGroup { tasks in
                tasks.addTask {
                    await withDiscardingTaskGroup { reloads in
                        reloads.addTask { for await _ in hangUps.all { gateway.reload() } }
                        for await _ in ends.all {
                            reloads.cancelAll()
                            notification.stopping()
                            gateway.stop()
                        }
                    }
                }
                try await gateway.run()
                tasks.cancelAll()
            }
        } catch let errors as SettingsErrors {
            logger.critical("cannot run: the configuration has errors", metadata: ["error": "\(errors)"])
            if !settings.logsToStandardError { Self.report(errors) }
            throw ExitCode.invalidConfiguration
        } catch {
            logger.critical("cannot run", metadata: ["error": "\(error)"])
            if !settings.logsToStandardError { StandardError.write("cannot run: \(error)\n") }
            throw ExitCode.cannotRun
        }
    }

    /// - Throws: exit status 78 (EX_CONFIG of sysexits), after reporting the file that can't be written.
    private func logs(_ settings: GatewaySettings) throws -> GatewayLogs {
        do throws(SettingsErrors) {
            return try GatewayLogs(settings)
        } catch {
            Self.report(error)
            throw ExitCode.invalidConfiguration
        }
    }

    private static func report(_ errors: SettingsErrors) {
        for error in errors.errors { StandardError.write(error.text(on: .standardError) + "\n") }
    }
}

extension GatewaySettings {
    /// Whether the gateway's own log goes to standard error, where the operator sees startup errors.
    fileprivate var logsToStandardError: Bool { logging.destination == .standardError }
}
