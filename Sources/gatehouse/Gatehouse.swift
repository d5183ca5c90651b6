import ArgumentParser

@main
struct Gatehouse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "An authenticating reverse proxy for mobile APIs behind Amazon Cognito and Sign in with Apple.",
        subcommands: [
            ServeCommand.self, CheckCommand.self, TokenCommand.self, JWSCommand.self, KeysCommand.self,
            RevokeCommand.self, UsersCommand.self, LocalPoolCommand.self,
        ])
}
