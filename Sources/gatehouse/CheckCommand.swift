internal import Admin
internal import ArgumentParser
internal import Diagnostics
internal import Encoding
internal import Gateway
internal import Settings

/// `gatehouse check`: says whether a configuration is good, without starting anything.
struct CheckCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a configuration and report every fault at once.",
        discussion: """
            Of this machine it looks at what would be as wrong on any other: a state directory that is a file, a log file \
            that is a directory.

            Warned of, and no fault, are: a certificate of a listener that has expired or ends within 14 days; a header that \
            forward_headers lets through, with the servers that believe it; a route around which capitals lead if the \
            backend ignores case, while the upstream's paths does not say whether it does; an attribute that users cannot set \
            because access depends on it. A listener that serves requests for any Host, since it has no server_names, is noted.

            Run by root it reads the configuration and all files named there as the user to whom state_directory belongs, \
            as the service will; --environment-file alone as root, as systemd does.

            With --online it also asks, all at once, whether what the configuration points to is there: every issuer's key \
            set is fetched, and its clock compared with this machine's; each user pool is asked whether it knows the app \
            client and takes its secret, and with AWS credentials which attributes the client may write; Apple is asked \
            about the client of each app, and each server of every upstream for the path of \
            its health check, or else /. No account is touched, nothing is changed anywhere, and no secret told.

            Exit status 0: good; 69: something did not answer as it should; 78: faulty.

            Examples:
              gatehouse check --config Config/gatehouse.yaml
              gatehouse check --config Config/gatehouse.yaml --online --json
              sudo gatehouse check --environment-file /etc/gatehouse/environment
              sed 's/8080/9090/' gatehouse.yaml | gatehouse check --config -
            """)

    @OptionGroup var options: SettingsOptions

    @Flag(help: "Also ask key sets, user pools, Apple and upstreams whether they are there.")
    var online = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let origin = try options.origin()
        let settings = try options.loadAsService(origin)
        let warnings = try GatewayService.certificateWarnings(settings)
        let notes = GatewayService.notes(settings)
        let counts = [
            Self.counted(settings.routes.count, "route"), Self.counted(settings.upstreams.count, "upstream"),
            Self.counted(settings.issuers.count, "issuer"),
        ].joined(separator: ", ")
        if !output.json {
            StandardOutput.line("\(origin.name): \(Terminal.standardOutput.styled(.good, "good")): \(counts)")
            for warning in warnings.map({ "\($0)" }) + settings.warnings.map({ "\($0)" }) {
                let heading = Terminal.standardOutput.styled(.bad, "warning")
                StandardOutput.line("\(heading): \(Columns.visible(warning))")
            }
            for note in notes { StandardOutput.line("note: \(Columns.visible(note))") }
            StandardOutput.flush()
        }
        let findings = online ? try await ask(settings) : []
        let isGood = findings.allSatisfy(\.isGood)
        if output.json {
            var object: JSONObject = [
                "config": .string(origin.name), "good": .bool(isGood), "routes": Self.number(settings.routes.count),
                "upstreams": Self.number(settings.upstreams.count), "issuers": Self.number(settings.issuers.count),
                "warnings": .array(warnings.map(Self.json) + settings.warnings.map(Self.json)),
                "notes": .array(notes.map { .string($0) }),
            ]
            if online { object["online"] = .array(findings.map(Self.json)) }
            output.report(object, text: "")
        }
        guard isGood else { throw ExitCode.unavailable }
    }

    /// Tells each finding as soon as it is known, so that a slow one does not hold up the others, and who is waited
    /// for.
    private func ask(_ settings: GatewaySettings) async throws -> [OnlineCheck.Finding] {
        let awaited = AwaitedAnswers()
        return try await ProgressLine.showing({ awaited.text }) { line in
            try await OnlineCheck(settings).run { subjects in
                awaited.begin(subjects)
            } report: { finding in
                awaited.end(finding.subject)
                line.interrupt { report(finding) }
            }
        }
    }

    private func report(_ finding: OnlineCheck.Finding) {
        guard !output.json else { return }
        let verdict = Terminal.standardOutput.styled(finding.isGood ? .good : .bad, finding.isGood ? "ok  " : "FAIL")
        StandardOutput.line("\(verdict) \(finding.subject): \(finding.text) (\(Self.milliseconds(finding)) ms)")
        StandardOutput.flush()
    }

    private static func json(_ finding: OnlineCheck.Finding) -> JSON {
        [
            "subject": .string(finding.subject), "good": .bool(finding.isGood), "text": .string(finding.text),
            "milliseconds": number(milliseconds(finding)),
        ]
    }

    private static func json(_ warning: CertificateWarning) -> JSON {
        [
            "kind": .string(warning.hasExpired ? "certificate-expired" : "certificate-expires"),
            "listener": .string(warning.listener), "names": .array(warning.names.map { .string($0) }),
            "expires_at": .number(JSONNumber(warning.expiresAt)), "text": .string("\(warning)"),
        ]
    }

    private static func json(_ warning: SettingsWarning) -> JSON {
        [
            "kind": .string(warning.kind.rawValue), "key": .string(warning.keyPath), "line": number(warning.line),
            "text": .string(warning.text),
        ]
    }

    private static func milliseconds(_ finding: OnlineCheck.Finding) -> Int {
        Int(finding.duration / .milliseconds(1))
    }

    private static func number(_ value: Int) -> JSON { .number(JSONNumber(value)) }

    private static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
