import ArgumentParser
import Gateway
import Pipeline
import Settings
import Synchronization

/// `gatehouse check`: says whether a configuration is good, without starting anything.
struct CheckCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a configuration and report every fault at once.",
        discussion: """
            Of this machine it looks at what would be as wrong on any other: a state directory that is a file, a log file \
            that is a directory.

            A certificate of a listener that has expired, or ends within 14 days, is warned of, and is no fault.

            With --online it also asks, all at once, whether what the configuration points to is there: every issuer's key \
            set is fetched, and its clock compared with this machine's; each user pool is asked whether it knows the app \
            client and takes its secret, Apple the same for each app, and each server of every upstream for the path of \
            its health check, or else /. No account is touched, nothing is changed anywhere, and no secret told.

            Exit status 0: good; 69: something did not answer as it should; 78: faulty.

            Examples:
              gatehouse check --config Config/gatehouse.yaml
              gatehouse check --config Config/gatehouse.yaml --online
              gatehouse check --config Config/gatehouse.yaml --json
              sed 's/8080/9090/' gatehouse.yaml | gatehouse check --config -
            """)

    @OptionGroup var options: SettingsOptions

    @Flag(help: "Also ask key sets, user pools, Apple and upstreams whether they are there.")
    var online = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let origin = try options.origin()
        let settings = try origin.load()
        let warnings = try GatewayService.certificateWarnings(settings)
        let counts =
            "\(settings.routes.count) routes, \(settings.upstreams.count) upstreams, \(settings.issuers.count) issuers"
        if !output.json {
            print("\(origin.name): \(Terminal.standardOutput.styled(.good, "good")): \(counts)")
            for warning in warnings {
                print("\(Terminal.standardOutput.styled(.bad, "warning")): \(Columns.visible("\(warning)"))")
            }
            flushStandardOutput()
        }
        let findings = online ? try await ask(settings) : []
        if output.json {
            var object: JSONObject = [
                "config": .string(origin.name), "good": true, "routes": Self.number(settings.routes.count),
                "upstreams": Self.number(settings.upstreams.count), "issuers": Self.number(settings.issuers.count),
                "warnings": .array(warnings.map(Self.json)),
            ]
            if online { object["online"] = .array(findings.map(Self.json)) }
            output.tell(object, text: "")
        }
        guard findings.allSatisfy(\.isGood) else { throw ExitCode.unavailable }
    }

    /// Tells each finding as soon as it is known, so that a slow one does not hold up the others, and how many there are.
    private func ask(_ settings: GatewaySettings) async throws -> [OnlineCheck.Finding] {
        let answers = AnswerCount()
        let progress = { @Sendable in
            "asking what the configuration points to: \(answers.value) have answered"
        }
        return try await ProgressLine.showing(progress) { line in
            try await OnlineCheck(settings).run { finding in
                answers.add()
                line.interrupt { tell(finding) }
            }
        }
    }

    private func tell(_ finding: OnlineCheck.Finding) {
        guard !output.json else { return }
        let verdict = Terminal.standardOutput.styled(finding.isGood ? .good : .bad, finding.isGood ? "ok  " : "FAIL")
        print("\(verdict) \(finding.subject): \(finding.text) (\(Self.milliseconds(finding)) ms)")
        flushStandardOutput()
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

    private static func milliseconds(_ finding: OnlineCheck.Finding) -> Int {
        Int(finding.duration / .milliseconds(1))
    }

    private static func number(_ value: Int) -> JSON { .number(JSONNumber(value)) }
}

/// How many have answered.
private final class AnswerCount: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
