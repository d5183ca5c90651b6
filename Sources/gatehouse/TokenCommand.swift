internal import ArgumentParser
internal import Diagnostics
internal import Encoding
internal import Glibc
internal import Logging
internal import Pipeline

/// `gatehouse token`: what becomes of a token, without a gateway that runs.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Verify a token as the gateway would, or look at what it says.",
        discussion: """
            Tokens are read from standard input only: other users can see command lines.

            Examples:
              gatehouse token verify --config gatehouse.yaml < token.jwt
              gatehouse token inspect < token.jwt
            """,
        subcommands: [VerifyTokenCommand.self, InspectTokenCommand.self])
}

/// `gatehouse token verify`: the verdict of a gateway with these settings.
struct VerifyTokenCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a token from standard input as the gateway would.",
        discussion: """
            Prints the headers that the backend gets and exits with 0, or the reason code of the rejection with 1. Where \
            no route has the name, or takes the request, that is 1 too, with no verdict. Exit status 78 means that the \
            configuration is faulty.

            Key sets are the files that the configuration names, those that a gateway keeps in state_directory, or else \
            fetched. What state_directory says to be revoked is rejected as token-revoked; --ignore-revocations leaves \
            that out, for who can't read the directory. Nothing is written there.

            Without --route and --path any issuer and kind of token is accepted and nothing further required. --route has \
            the rules of one route hold, but for {sub} in its path; --path those of the route that takes the request, \
            {sub} included. Both together check as well that the one is the other's.

            Examples:
              gatehouse token verify --config gatehouse.yaml < token.jwt
              gatehouse token verify --route api --now 1780000000 --json < token.jwt
              gatehouse token verify --method PUT --path /users/8c3b/photo < token.jwt
              gatehouse token verify --config gatehouse.yaml --lines < tokens.txt
            """)

    @OptionGroup var options: SettingsOptions

    @Option(help: ArgumentHelp("Judge the token's times as of then: seconds since 1970.", valueName: "seconds"))
    var now: Int64?

    @Option(help: ArgumentHelp("The name of the route whose rules hold.", valueName: "name"))
    var route: String?

    @Option(help: ArgumentHelp("The path of a request, whose route's rules hold.", valueName: "path"))
    var path: String?

    @Option(help: ArgumentHelp("The method of that request.", valueName: "name"))
    var method = "GET"

    @Flag(help: "Don't look at what is revoked.")
    var ignoreRevocations = false

    @OptionGroup var output: VerdictOptions

    func validate() throws {
        guard options.config != "-" else { throw ValidationError("Standard input is the token's: name a file.") }
        guard path != nil || method == "GET" else { throw ValidationError("--method is said of a --path.") }
    }

    func run() async throws {
        let settings = try options.loadForState()
        var logger = Logger(label: "gatehouse") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let question = OfflineQuestion(
            route: route, path: path, method: method, now: now, looksAtRevocations: !ignoreRevocations)
        try await OfflineVerifier.with(settings, question, logger: logger) { verifier in
            try await output.report { Self.verdict(await verifier.examine($0)) }
        }
    }

    private static func verdict(_ finding: OfflineVerifier.Finding) -> TokenVerdict {
        switch finding {
        case .rejected(let reason):
            return .rejected(reason)
        case .accepted(let issuer, let use, let headers):
            let lines = headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            return .accepted(
                [
                    "issuer": .string(issuer), "token_use": .string(use),
                    "headers": .object(JSONObject(headers.map { ($0.name, .string($0.value)) })),
                ], text: "accepted: \(use) token of issuer \(issuer)\n\(lines)")
        }
    }
}

/// `gatehouse token inspect`: what a token says, whoever wrote it.
struct InspectTokenCommand: ParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show what a token from standard input says, without verifying anything.",
        discussion: """
            Nothing of it is verified: anyone can write a token that says the same. Exit status 1 means that it is no \
            token in compact form.

            Examples:
              gatehouse token inspect < token.jwt
              gatehouse token inspect --json < token.jwt
            """)

    @OptionGroup var output: OutputOptions

    func run() throws {
        guard let token = UnverifiedToken(StandardInput.readToken()) else {
            throw CommandFailure("not a token in compact form (RFC 7515, 3.1)")
        }
        if output.json {
            return output.report(
                ["verified": false, "header": token.header, "payload": token.payload ?? .null], text: "")
        }
        StandardOutput.line("NOT VERIFIED: anyone can have written this.")
        StandardOutput.line("header: \(token.header.indented())")
        guard let payload = token.payload else { return StandardOutput.line("payload: not JSON") }
        StandardOutput.line("payload: \(payload.indented())")
        for name in ["iat", "nbf", "auth_time", "exp"] {
            guard let seconds = payload[name]?.numberValue?.numericDate, let time = Self.time(seconds) else { continue }
            StandardOutput.line("\(name): \(time)")
        }
    }

    private static func time(_ seconds: Int64) -> String? {
        // The years 0 to 9999.
        guard (-62_167_219_200...253_402_300_799).contains(seconds) else { return nil }
        return Timestamp.text(seconds)
    }
}
