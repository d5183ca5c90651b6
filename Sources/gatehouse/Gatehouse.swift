import ArgumentParser
import Gateway

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
              gatehouse --generate-completion-script bash > /etc/bash_completion.d/gatehouse

            \(ExitStatusHelp.text)
            """,
        version: GatehouseVersion.current,
        subcommands: [
            ServeCommand.self, CheckCommand.self, HealthCommand.self, SchemaCommand.self, TokenCommand.self,
            JWSCommand.self, KeysCommand.self, RevokeCommand.self, UsersCommand.self, StoreCommand.self,
            LocalPoolCommand.self,
        ])

    /// Runs the command, and tells why it failed as it would have told its result.
    static func main() async {
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
        } catch {
            exit(withError: error)
        }
    }

    /// What the command line asks for. What is wrong with it is told as JSON where that is asked for too.
    private static func parsed() throws -> any ParsableCommand {
        do {
            return try parseAsRoot()
        } catch {
            let options = CommandLine.arguments.prefix { $0 != "--" }
            guard exitCode(for: error) == .validationFailure, options.contains("--json") else { throw error }
            CommandFailure(message(for: error)).tell(asJSON: true)
            throw ExitCode.validationFailure
        }
    }
}
