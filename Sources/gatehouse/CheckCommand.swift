internal import Admin
internal import ArgumentParser
internal import Diagnostics
internal import Encoding
internal import Gateway
internal import Settings

/// `gatehouse check`: checks a configuration without starting anything.
struct CheckCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a configuration and report all errors at once.",
        discussion: """
            The check uses this machine only for errors that every machine would have, such as a state directory \
            that is a file, or a log file that is a directory.

            Warnings, which are no errors, are about:

              certificates  of listeners, expired or expiring within 14 days
              headers       that forward_headers forwards although servers trust them
              routes        bypassed by capital letters, if the backend ignores case and paths is not set
              attributes    that users cannot set, because access depends on them
              hosts         of any name, because a listener has no server_names
              passwords     that come to the network without TLS and without a known proxy that speaks it

            If root runs it, the command reads the configuration and all files named there as the owner of \
            state_directory, as the service does. Only --environment-file is read as root, as systemd does.

            With --online it also makes calls, all at the same time. It fetches every issuer's key set and \
            compares the issuer's clock. It asks each user pool whether it knows the app client and accepts the \
            secret, and with AWS credentials which attributes the app client may write. It asks Apple about the \
            client of each app, and each server of every upstream for the path of its health check, or for /. No \
            account is touched, nothing is changed, and no secret is printed.

            Exit status 0 means that the configuration is good, 69 that a dependency did not respond as it \
            should, 78 that the configuration has errors.

            Examples:
              gatehouse check gatehouse.yaml
              gatehouse check --config Config/gatehouse.yaml --online --json
              sudo gatehouse check --environment-file /etc/gatehouse/environment
              sed 's/8080/9090/' gatehouse.yaml | gatehouse check --config -
            """)

    @OptionGroup var argument: SettingsFile
    @OptionGroup var options: SettingsOptions

    @Flag(help: "Also check key sets, user pools, Apple and upstreams by calls to them.")
    var online = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let origin = try options.origin(argument)
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

    /// Reports each finding as soon as it is known, so that slow servers do not delay others, and shows the pending
    /// ones.
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
