internal import ArgumentParser
internal import Cryptography
internal import Diagnostics
internal import Encoding
internal import FoundationEssentials
internal import Pipeline
internal import Settings
internal import SettingsReader

/// `gatehouse health`: asks a running gateway for its health, for container health checks.
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
            address and the certificates of admin.tls are read, so that no secret is needed. If there is no \
            configuration, or it cannot be read, the address is 127.0.0.1:9901. Errors in the file of --config, \
            and in admin.tls, are reported.

            With admin.tls in the configuration, the command uses TLS. The gateway must have the key of one of the \
            certificates there; names do not matter. With --address and --tls, the certificate must be valid for the \
            address, and signed by a system authority or one of --ca. If admin.tls has client_ca, give --certificate \
            and --key.

            Examples:
              gatehouse health
              gatehouse health --alive --address 127.0.0.1:9901
              gatehouse health --config /etc/gatehouse/gatehouse.yaml --json
              gatehouse health --address gateway.internal:9901 --ca operators-ca.pem
            """)

    @Option(help: ArgumentHelp("The admin listener's host and port.", valueName: "address"))
    var address: String?

    @Option(
        help: ArgumentHelp("Take the address from this YAML file; - is standard input.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var environment: EnvironmentOptions

    @Flag(help: "The admin listener of --address speaks TLS.")
    var tls = false

    @Option(
        help: ArgumentHelp(
            "With --address: use TLS, and trust only the authorities in this PEM file.", valueName: "file"),
        completion: .file(extensions: ["pem", "crt"]))
    var ca: String?

    @Option(
        help: ArgumentHelp("The client certificate for client_ca, with its chain, in PEM.", valueName: "file"),
        completion: .file(extensions: ["pem", "crt"]))
    var certificate: String?

    @Option(
        help: ArgumentHelp("The key of --certificate, in PEM.", valueName: "file"),
        completion: .file(extensions: ["pem", "key"]))
    var key: String?

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
        guard (!tls && ca == nil) || address != nil else {
            throw ValidationError("--tls and --ca need --address; else admin.tls of the configuration counts.")
        }
        guard (certificate == nil) == (key == nil) else { throw ValidationError("Give --certificate with --key.") }
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout must be 1 to 60.") }
    }

    func run() async throws {
        let admin = try admin()
        var answer = try await HealthProbe(
            address: admin.address, admin.verification, identity: try identity(), isAliveEnough: alive,
            timeout: .seconds(timeout)
        ).ask()
        if !answer.isGood, let error = admin.unread { answer.text += " (\(error); asked the default address)" }
        output.report(
            ["good": .bool(answer.isGood), "text": .string(answer.text)],
            text: Terminal.standardOutput.styled(answer.isGood ? .good : .bad, answer.text))
        if !answer.isGood { throw ExitCode.failure }
    }

    private struct Admin {
        let address: HostAndPort
        let verification: HealthProbe.Verification
        /// The reason why the default address is used instead of that of the settings.
        var unread: SettingsError?
    }

    private func admin() throws -> Admin {
        if let address = address.flatMap({ HostAndPort(address: $0) }) {
            guard tls || ca != nil else { return Admin(address: address, verification: .plainText) }
            return Admin(address: address, verification: .authorities(try ca.map(authorities)))
        }
        let origin = try SettingsOrigin.found(by: config, environment)
        do {
            let endpoint = try origin.adminEndpoint(environment: ProcessInfo.processInfo.environment)
            return Admin(
                address: endpoint.address,
                verification: endpoint.chains.map(HealthProbe.Verification.chains) ?? .plainText)
        } catch {
            // Errors are reported to an operator who names the settings. Others may have no settings, or no permission
            // to read them. Errors in `admin.tls` show that the settings exist and use TLS.
            guard config == nil, !error.concernAdminTLS else { throw CommandFailure(error, in: origin.name) }
            return Admin(
                address: GatewaySettings.standardAdminAddress, verification: .plainText, unread: error.errors.first)
        }
    }

    private func authorities(in path: String) throws -> TrustedCertificates {
        let pem = try contents(of: path, named: "--ca")
        do throws(CryptographyError) {
            return try TrustedCertificates(pem: pem)
        } catch {
            throw CommandFailure("--ca: \(path) holds no certificate in PEM")
        }
    }

    private func identity() throws -> HealthProbe.Identity? {
        guard let certificate, let key else { return nil }
        let chain = try contents(of: certificate, named: "--certificate")
        let secret = Secret(try contents(of: key, named: "--key"))
        guard PEMFile.isKey(secret, of: chain) == true else {
            throw CommandFailure("--key: \(key) is not the key of \(certificate)")
        }
        return HealthProbe.Identity(certificate: chain, key: secret)
    }

    private func contents(of path: String, named option: String) throws -> [UInt8] {
        do throws(FileReadFailure) {
            return try readWholeFile(path)
        } catch {
            throw CommandFailure("\(option): \(path) can't be read: \(error)")
        }
    }
}
