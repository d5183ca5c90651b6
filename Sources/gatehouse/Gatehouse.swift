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
}
