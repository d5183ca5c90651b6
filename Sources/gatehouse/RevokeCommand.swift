internal import ArgumentParser
internal import Keys

/// `gatehouse revoke`: lets tokens that have not expired count no more.
struct RevokeCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Let a user's tokens, or one sign-in's, count no more.",
        discussion: """
            One of --subject, --origin-jti, --jti and --sid says which. --subject means everything that the user has \
            signed in for until now; who signs in again afterwards gets in. A running gateway follows within two \
            seconds, and it outlasts restarts.

            Cognito itself goes on refreshing tokens of the sign-in: with --jti a refreshed token is not meant. Disable \
            or sign out the user there as well.

            Examples:
              gatehouse revoke --issuer users --subject 8c3b1c52-…
              gatehouse revoke --config gatehouse.yaml --origin-jti 1f2e3d4c-… --json
            """)

    @OptionGroup var options: SettingsOptions

    @Option(help: "The issuer's name in the configuration; may be left out where there is one only.")
    var issuer: String?

    @Option(help: "The sub claim: all tokens of this user up to now.")
    var subject: String?

    @Option(name: .customLong("origin-jti"), help: "The origin_jti claim: all tokens of one sign-in.")
    var originID: String?

    @Option(name: .customLong("jti"), help: "The jti claim: one token.")
    var tokenID: String?

    @Option(name: .customLong("sid"), help: "The sid claim: all tokens of one session.")
    var session: String?

    @Option(help: "For how many days: as long as a token that is meant can be valid.")
    var days = 30

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard [subject, originID, tokenID, session].count(where: { $0?.isEmpty == false }) == 1 else {
            throw ValidationError("Say which tokens, by one of --subject, --origin-jti, --jti and --sid.")
        }
        guard (1...3650).contains(days) else { throw ValidationError("--days must be 1 to 3650.") }
    }

    func run() async throws {
        let settings = try options.loadForState()
        output.done(try await OperatorRevocation(settings).revoke(claim, issuer: issuer, days: days))
    }

    private var claim: OperatorRevocation.Claim {
        if let originID { return .originID(originID) }
        if let tokenID { return .tokenID(tokenID) }
        if let session { return .session(session) }
        return .subject(subject ?? "")
    }
}
