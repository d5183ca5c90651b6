internal import ArgumentParser
internal import Diagnostics
internal import Encoding
internal import FoundationEssentials
internal import Pipeline
internal import Settings

/// `gatehouse health`: asks a running gateway, for the health checks of containers.
struct HealthCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a running gateway whether it is ready.",
        discussion: """
            Asks /readyz of the admin listener: exit status 0 when the gateway takes traffic, 1 when it does not or does not \
            answer. With --alive it is what the container's HEALTHCHECK runs, whose image has no curl: one that asked \
            whether it is ready would have it restarted for a backend that is down.

            Without --address the settings say where it listens: those of --config, else the text in the environment \
            variable GATEHOUSE_CONFIG_YAML, else /etc/gatehouse/gatehouse.yaml. Nothing but that address is looked at, and \
            no secret needed. Where there are none, or they cannot be read, it is 127.0.0.1:9901; what is wrong with those \
            of --config is an error.

            Examples:
              gatehouse health
              gatehouse health --alive --address 127.0.0.1:9901
              gatehouse health --config /etc/gatehouse/gatehouse.yaml --json
            """)

    @Option(help: ArgumentHelp("The admin listener's host and port.", valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp("Take the address from this YAML file; - for standard input.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var environment: EnvironmentOptions

    @Flag(help: "Ask /healthz: whether it runs, also while it takes no traffic.")
    var alive = false

    @Option(help: ArgumentHelp("The most time for the answer.", valueName: "seconds"))
    var timeout = 3

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard address == nil || config == nil else { throw ValidationError("Give one of --address and --config.") }
        guard address.map({ HostAndPort(address: $0) != nil }) ?? true else {
            throw ValidationError("--address must be host:port, such as 127.0.0.1:9901.")
        }
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout must be 1 to 60.") }
    }

    func run() async throws {
        let answer = try await HealthQuestion(
            address: try adminAddress(), isAliveEnough: alive, timeout: .seconds(timeout)
        ).ask()
        output.report(
            ["good": .bool(answer.isGood), "text": .string(answer.text)],
            text: Terminal.standardOutput.styled(answer.isGood ? .good : .bad, answer.text))
        if !answer.isGood { throw ExitCode.failure }
    }

    private func adminAddress() throws -> HostAndPort {
        if let address = address.flatMap({ HostAndPort(address: $0) }) { return address }
        let origin = try SettingsOrigin.found(by: config, environment)
        do {
            return try origin.adminAddress(environment: ProcessInfo.processInfo.environment)
        } catch {
            // An operator who names settings is told what is wrong with them. Others may have none, or not be allowed
            // to read them.
            guard config == nil else { throw CommandFailure(error, in: origin.name) }
            return GatewaySettings.standardAdminAddress
        }
    }
}
