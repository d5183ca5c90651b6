internal import ArgumentParser
internal import Encoding
internal import Gateway
internal import Logging
internal import Sessions
internal import Store

/// `gatehouse users`: manages the users who sign in with Apple.
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "List users who sign in with Apple, set roles, end sessions.",
        discussion: """
            The users are in state_directory, or with state.postgres in the database that gateways share. A gateway can \
            run at the same time and follows within two seconds. Tokens are never shown.

            Examples:
              gatehouse users list --matching ada@example.com
              gatehouse users end-sessions --config gatehouse.yaml 5f0c… --json
            """,
        subcommands: [
            List.self, Show.self, SetRole.self, Disable.self, Enable.self, Sessions.self, EndSessions.self,
        ])

    struct List: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "List users by id, one on each line.",
            discussion: """
                Examples:
                  gatehouse users list --matching ada@example.com
                  gatehouse users list --config gatehouse.yaml --json | jq -r .id
                """)

        @OptionGroup var options: SettingsOptions

        @Option(help: "The id, Apple's subject, or the start of the e-mail address or name.")
        var matching: String?

        @Option(help: "Only users after this id, for further pages.")
        var after = ""

        @Option(help: "Most users to list.")
        var limit = 100

        @OptionGroup var output: ListingOptions

        func validate() throws {
            guard (1...100_000).contains(limit) else { throw ValidationError("--limit must be 1 to 100000.") }
        }

        func run() async throws {
            try await administering(options) { users in
                output.report(
                    try await users.users(matching: matching, after: after, limit: limit),
                    columns: ["id", "role", "email", "name", "created_at", "disabled_at"])
            }
        }
    }

    struct Show: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the stored data of a user, and the number of open sessions.",
            discussion: "Example: gatehouse users show 5f0c…")

        @OptionGroup var user: UserArgument
        @OptionGroup var output: ListingOptions

        func run() async throws {
            try await administering(user.options) { output.report(try await $0.user(user.id)) }
        }
    }

    struct SetRole: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-role",
            abstract: "Change a user's role. The sessions end, because tokens contain the role.",
            discussion: "Example: gatehouse users set-role 5f0c… driver")

        @OptionGroup var user: UserArgument
        @Argument(help: "One of the roles under sign_in.apple.roles.") var role: String
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await administering(user.options) { users in
                let ended = try await users.setRole(role, of: user.id, requestID: "gatehouse users set-role")
                output.done(
                    "the role is \(role); \(ended) sessions ended, a running gateway follows within two seconds")
            }
        }
    }

    struct Disable: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Disable a user: all sessions end, and no sign-in works.",
            discussion: "Example: gatehouse users disable 5f0c…")

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await administering(user.options) { users in
                let ended = try await users.setDisabled(true, of: user.id, requestID: "gatehouse users disable")
                output.done(
                    "the user is locked out; \(ended) sessions ended, a running gateway follows within two seconds")
            }
        }
    }

    struct Enable: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Enable a disabled user.",
            discussion: "Example: gatehouse users enable 5f0c…")

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await administering(user.options) { users in
                _ = try await users.setDisabled(false, of: user.id, requestID: "gatehouse users enable")
                output.done("the user may sign in again")
            }
        }
    }

    struct Sessions: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "List a user's open sessions, one on each line.",
            discussion: "Example: gatehouse users sessions 5f0c…")

        @OptionGroup var user: UserArgument
        @OptionGroup var output: ListingOptions

        func run() async throws {
            try await administering(user.options) { users in
                output.report(
                    try await users.sessions(of: user.id),
                    columns: ["id", "device_id", "platform", "signed_in_at", "refreshed_at", "expires_at"])
            }
        }
    }

    struct EndSessions: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            commandName: "end-sessions",
            abstract: "End all sessions of a user. The user can sign in again.",
            discussion: "Example: gatehouse users end-sessions 5f0c…")

        @OptionGroup var user: UserArgument
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await administering(user.options) { users in
                let ended = try await users.endSessions(of: user.id, requestID: "gatehouse users end-sessions")
                output.done("\(ended) sessions ended; a running gateway follows within two seconds")
            }
        }
    }
}

/// The user that a command acts on.
struct UserArgument: ParsableArguments {
    @OptionGroup var options: SettingsOptions
    @Argument(help: "The user's id.") var id: String
}

private func administering(
    _ options: SettingsOptions, _ body: (UserAdministration) async throws -> Void
) async throws {
    let settings = try options.loadForState()
    let logger = Logger(label: "gatehouse") { StreamLogHandler.standardError(label: $0) }
    let records = try await GatewayState.open(settings).records
    let rings = try await options.keyRings(settings)
    try await body(try await OperatorUsers.administration(settings, records, rings, logger: logger))
}
