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
            The command calls /readyz of the admin listener. Exit status 0 means that the gateway is ready for \
            traffic, 1 that it is not or did not respond. With --alive it is the HEALTHCHECK of the container, \
            whose image has no curl. A check for readiness would restart the container for a backend that is \
            down.

            Without --address the address comes from the configuration: from --config, else from the text in the \
            environment variable GATEHOUSE_CONFIG_YAML, else from /etc/gatehouse/gatehouse.yaml. Only the \
            address is read, so that no secret is needed. If there is no configuration, or it cannot be read, \
            the address is 127.0.0.1:9901. Errors in the file of --config are reported.

            Examples:
              gatehouse health
              gatehouse health --alive --address 127.0.0.1:9901
              gatehouse health --config /etc/gatehouse/gatehouse.yaml --json
            """)

    @Option(help: ArgumentHelp("The admin listener's host and port.", valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp("Take the address from this YAML file; - is standard input.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var environment: EnvironmentOptions

    @Flag(help: "Call /healthz: whether the process runs, ready or not.")
    var alive = false

    @Option(help: ArgumentHelp("Longest time for the response.", valueName: "seconds"))
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
