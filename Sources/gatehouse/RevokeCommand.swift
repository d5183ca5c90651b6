internal import ArgumentParser
internal import Gateway
internal import Keys
internal import Store

/// `gatehouse revoke`: revokes tokens that have not expired.
struct RevokeCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a user's tokens, or those of one sign-in.",
        discussion: """
            Name the tokens by one of --subject, --origin-jti, --jti and --sid. --subject revokes all tokens of \
            sign-ins until now; a new sign-in works. A running gateway follows within two seconds, and the entry \
            outlasts restarts.

            Cognito itself continues to refresh tokens of the sign-in, and --jti does not cover a refreshed \
            token. Disable the user or sign the user out there as well.

            Examples:
              gatehouse revoke --issuer users --subject 8c3b1c52-…
              gatehouse revoke --config gatehouse.yaml --origin-jti 1f2e3d4c-… --json
            """)

    @OptionGroup var options: SettingsOptions

    @Option(help: "The issuer's name in the configuration. Needed if there are several.")
    var issuer: String?

    @Option(help: "The sub claim: all tokens of this user up to now.")
    var subject: String?

    @Option(name: .customLong("origin-jti"), help: "The origin_jti claim: all tokens of one sign-in.")
    var originID: String?

    @Option(name: .customLong("jti"), help: "The jti claim: one token.")
    var tokenID: String?

    @Option(name: .customLong("sid"), help: "The sid claim: all tokens of one session.")
    var session: String?

    @Option(help: "Days for which the entry lasts: at least a token's lifetime.")
    var days = 30

    @OptionGroup var output: OutputOptions

    func validate() throws {
        // Empty values count too: a script's variable may be unset.
        let given = [subject, originID, tokenID, session].compactMap { $0 }
        guard given.count == 1, given.allSatisfy({ !$0.isEmpty }) else {
            throw ValidationError("Name the tokens by one of --subject, --origin-jti, --jti and --sid, with a value.")
        }
        guard (1...3650).contains(days) else { throw ValidationError("--days must be 1 to 3650.") }
    }

    func run() async throws {
        let settings = try options.loadForState()
        let records = try await GatewayState.open(settings).records
        output.done(try await OperatorRevocation(settings, records).revoke(claim, issuer: issuer, days: days))
    }

    private var claim: OperatorRevocation.Claim {
        if let originID { return .originID(originID) }
        if let tokenID { return .tokenID(tokenID) }
        if let session { return .session(session) }
        return .subject(subject ?? "")
    }
}
