internal import ArgumentParser
internal import Cryptography
internal import Glibc
internal import Telemetry

@main
struct Gatehouse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "An authenticating reverse proxy for mobile APIs behind Amazon Cognito and Sign in with Apple.",
        discussion: """
            Examples:
              gatehouse check --config gatehouse.yaml --online
              gatehouse serve --config gatehouse.yaml
              gatehouse health
              gatehouse token verify --config gatehouse.yaml < token.jwt
              gatehouse --generate-completion-script bash \\
                > /etc/bash_completion.d/gatehouse

            \(ExitStatusHelp.text)
            """,
        version: GatehouseVersion.current,
        subcommands: [
            ServeCommand.self, CheckCommand.self, HealthCommand.self, SchemaCommand.self, ReferenceCommand.self,
            TokenCommand.self, JWSCommand.self, KeysCommand.self, RevokeCommand.self, UsersCommand.self,
            StoreCommand.self, LocalPoolCommand.self, AuditAppCommand.self,
        ])

    /// Runs the command and reports a failure in the format of its result. A failed write to standard output is a
    /// failure too.
    static func main() async {
        CryptographyLibrary.staysUntilTheEnd()
        var status = await outcome()
        if let reason = StandardOutput.finish() {
            StandardError.write("standard output cannot be written: \(reason)\n")
            if status == .success { status = .failure }
        }
        Glibc.exit(status.rawValue)
    }

    private static func outcome() async -> ExitCode {
        do {
            var command = try parsed()
            do {
                if var waiting = command as? any AsyncParsableCommand {
                    try await waiting.run()
                } else {
                    try command.run()
                }
            } catch {
                throw command.ending(with: error)
            }
            return .success
        } catch {
            return report(error)
        }
    }

    private static var arguments: [String] { UnknownCommand.translated(Array(CommandLine.arguments.dropFirst())) }

    /// Parses the command line. Its errors are reported as JSON if it has `--json`.
    private static func parsed() throws -> any ParsableCommand {
        // The parser's own help is right for the words that it knows.
        if arguments.first == "help", let unknown { throw ValidationError(unknown.message) }
        do {
            return try parseAsRoot(arguments)
        } catch {
            let options = arguments.prefix { $0 != "--" }
            guard exitCode(for: error) == .validationFailure, options.contains("--json") else { throw error }
            CommandFailure(unknown?.message ?? message(for: error)).report(asJSON: true)
            throw ExitCode.validationFailure
        }
    }

    /// Prints help and version as results, and errors in the command line together with the correct usage.
    private static func report(_ error: any Error) -> ExitCode {
        let status = exitCode(for: error)
        let text = BrokenUsage.of(fullMessage(for: error))
        guard !text.isEmpty else { return status }
        guard status != .success else {
            StandardOutput.line(text)
            return status
        }
        let message = _errorPrefix + message(for: error)
        if status == .validationFailure, let unknown, text.hasPrefix(message) {
            StandardError.write(_errorPrefix + unknown.message + text.dropFirst(message.count) + "\n")
        } else {
            StandardError.write(text + "\n")
        }
        return status
    }

    /// The word that makes the command line invalid; nil if there is none.
    private static var unknown: UnknownCommand? {
        let words = arguments[...]
        return .first(in: words.first == "help" ? words.dropFirst() : words, below: Self.self)
    }
}
