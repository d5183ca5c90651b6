internal import ArgumentParser
internal import Diagnostics
internal import Encoding
internal import Glibc
internal import Logging
internal import Pipeline

/// `gatehouse token`: examines tokens without a running gateway.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Verify a token as the gateway would, or show what it contains.",
        discussion: """
            Tokens are read from standard input only, because other users can see command lines. They may have \
            Bearer before them, as in a request.

            Examples:
              gatehouse token verify --config gatehouse.yaml < token.jwt
              gatehouse token inspect < token.jwt
            """,
        subcommands: [VerifyTokenCommand.self, InspectTokenCommand.self])
}

/// `gatehouse token verify`: verifies a token as a gateway with these settings would.
struct VerifyTokenCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a token from standard input as the gateway would.",
        discussion: """
            For an accepted token the command prints the headers that the backend gets, and exits with 0. For a \
            rejected token it prints the reason code and each claim that differs, with the expected and the actual \
            value, and exits with 1. For a time it prints how many seconds it is off. If no route has the name or \
            takes the request, it exits with 1 without a verdict. Exit status 78 means that the configuration has \
            errors.

            Key sets come from the files that the configuration names, else from those that a gateway stores in \
            state_directory, else they are fetched. Tokens on the revocation list, which is there or in the database \
            of state.postgres, are rejected with token-revoked. --ignore-revocations leaves the list out, if you \
            cannot read the directory. The command writes nothing there.

            Without --route and --path any issuer and kind of token is accepted, and no requirement is checked. \
            --route applies the rules of one route, without {sub} in its path. --path applies the rules of the \
            route that takes the request, with {sub}; --host is for routes with hosts. With both, the route must be the one that takes the path.

            Examples:
              gatehouse token verify --config gatehouse.yaml < token.jwt
              gatehouse token verify --route api --now 1780000000 --json < token.jwt
              gatehouse token verify --method PUT --path /users/8c3b/photo < token.jwt
              gatehouse token verify --config gatehouse.yaml --lines < tokens.txt
            """)

    @OptionGroup var options: SettingsOptions

    @Option(help: ArgumentHelp("Verify as of this time, in seconds since 1970.", valueName: "seconds"))
    var now: Int64?

    @Option(help: ArgumentHelp("Apply the rules of the route with this name.", valueName: "name"))
    var route: String?

    @Option(help: ArgumentHelp("Apply the rules of the route that takes this path.", valueName: "path"))
    var path: String?

    @Option(help: ArgumentHelp("The method of the request with that path.", valueName: "name"))
    var method = "GET"

    @Option(help: ArgumentHelp("The host that the request with that path names.", valueName: "host"))
    var host: String?

    @Flag(help: "Ignore the revocation list.")
    var ignoreRevocations = false

    @OptionGroup var output: VerdictOptions

    func validate() throws {
        guard options.config != "-" else { throw ValidationError("Standard input is the token's: name a file.") }
        guard path != nil || method == "GET" else { throw ValidationError("--method needs --path.") }
        guard path != nil || host == nil else { throw ValidationError("--host needs --path.") }
    }

    func run() async throws {
        let settings = try options.loadForState()
        var logger = Logger(label: "gatehouse") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let question = OfflineQuestion(
            route: route, path: path, method: method, host: host, now: now,
            looksAtRevocations: !ignoreRevocations)
        try await OfflineVerifier.with(settings, try await options.keyRings(settings), question, logger: logger) {
            verifier in
            try await output.report {
                Self.verdict(await verifier.examine(StandardInput.bareToken($0)))
            }
        }
    }

    private static func verdict(_ finding: OfflineVerifier.Finding) -> TokenVerdict {
        switch finding {
        case .rejected(let reason, let differences):
            return .rejected(
                reason, ["differences": .array(differences.map(\.json))], details: differences.map(\.description))
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

/// `gatehouse token inspect`: shows the contents of a token without verification.
struct InspectTokenCommand: ParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show what a token from standard input contains, without verifying it.",
        discussion: """
            Nothing is verified: anyone can write a token with the same contents. Exit status 1 means that the input is \
            not a token in compact form.

            Examples:
              gatehouse token inspect < token.jwt
              gatehouse token inspect --json < token.jwt
            """)

    @OptionGroup var output: OutputOptions

    func run() throws {
        let text = try StandardInput.readToken()
        guard let token = UnverifiedToken(StandardInput.bareToken(text)) else {
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

extension TokenDifference {
    fileprivate var json: JSON {
        [
            "name": .string(name), "expected": .array(expected.map { .string($0) }),
            "got": got.map { .string($0) } ?? .null,
            "seconds_off": secondsOff.map { .number(JSONNumber($0)) } ?? .null,
        ]
    }
}
