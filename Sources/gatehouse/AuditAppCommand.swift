internal import AppAudit
internal import ArgumentParser
internal import Encoding
internal import FoundationEssentials
internal import Locking
internal import Settings
internal import SettingsReader
internal import Telemetry

/// `gatehouse audit-app`: finds code that bypasses the gateway in an app's sources or archive.
struct AuditAppCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit-app",
        abstract: "Find what still calls Cognito in an app's sources or archive.",
        discussion: """
            The audit reads the files below a directory, or one file: Swift, Objective-C, Kotlin, Java, \
            JavaScript, TypeScript, Dart, Python, property lists, Xcode projects, and lists of dependencies. It \
            sends nothing and changes nothing. Each finding names its rule, its place, and the gateway's call \
            that replaces it:

              error    calls to Cognito, its hosts, and client secrets
              warning  configuration, dependencies, ids of pools, and tokens outside the Keychain
              note     the same in comments, tests and documents

            Files that .gitignore names are left out, and directories such as Pods, node_modules and build. \
            Archives of apps and libraries (.ipa, .apk, .aab, .aar, .jar) are read, with the names and texts in \
            their programs; nothing is unpacked. A baseline contains known findings, which are no longer reported.

            Exit status 0 means that nothing of the weight of --fail-on was found, 1 that something was found or \
            could not be read.

            Examples:
              gatehouse audit-app .
              gatehouse audit-app --fail-on warning --domain auth.example.com .
              gatehouse audit-app --config gatehouse.yaml app-release.apk
              gatehouse audit-app --write-baseline known.json .
              gatehouse audit-app --baseline known.json --sarif . > audit.sarif
            """)

    @Argument(help: "The app's directory, or one file or archive.", completion: .file())
    var path: String

    @Option(help: ArgumentHelp("The least weight that fails: error or warning.", valueName: "weight"))
    var failOn = FailureWeight.error

    @Option(help: ArgumentHelp("A custom domain of the pool; can be repeated.", valueName: "host"))
    var domain: [String] = []

    @Option(
        help: ArgumentHelp(
            "Take custom domains from the gateway's configuration, and nothing else.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @Option(help: ArgumentHelp("Leave out the findings in this file.", valueName: "file"), completion: .file())
    var baseline: String?

    @Option(help: ArgumentHelp("Write all findings to this file, and succeed.", valueName: "file"), completion: .file())
    var writeBaseline: String?

    @Flag(help: "Also read files and directories that are left out otherwise.")
    var includeIgnored = false

    @Flag(help: "Print the report in SARIF 2.1.0, for code scanning.")
    var sarif = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !sarif || !output.json else { throw ValidationError("Give one of --json and --sarif.") }
        guard baseline == nil || writeBaseline == nil else {
            throw ValidationError("Give one of --baseline and --write-baseline.")
        }
        guard domain.count <= Scanner.maximumDomains,
            domain.allSatisfy({ (try? ScalarFormat<String>.domain.read($0)) != nil })
        else {
            throw ValidationError(
                """
                --domain must be a host's name, such as auth.example.com, without scheme, port and path, and can be \
                given \(Scanner.maximumDomains) times.
                """)
        }
    }

    func run() async throws {
        let known = try baseline.map(AuditFiles.readBaseline)
        var report = try await audit()
        if let known { report.apply(known) }
        if let writeBaseline { try AuditFiles.write(Baseline.text(of: report), to: writeBaseline) }
        if sarif {
            StandardOutput.line(report.sarif(version: GatehouseVersion.current).indented())
        } else if output.json {
            output.report(report.json(path: path, failingOn: failOn.severity), text: "")
        } else {
            for line in AuditText(report, baseline: writeBaseline).lines { StandardOutput.line(line) }
        }
        let isGood = writeBaseline == nil ? report.isGood(failingOn: failOn.severity) : report.notRead.isEmpty
        guard isGood else { throw ExitCode.failure }
    }

    /// The domains of the command line and of the gateway's settings.
    private func domains() throws -> [String] {
        guard let config else { return domain }
        let all = try domain + SettingsOrigin.file(config).hostedDomains()
        guard all.count <= Scanner.maximumDomains else {
            throw CommandFailure("more than \(Scanner.maximumDomains) domains are named", status: .validationFailure)
        }
        return all
    }

    private func audit() async throws -> AuditReport {
        let count = Locked(0)
        let audit = Audit(
            domains: try domains(), includesIgnored: includeIgnored, width: ProcessInfo.processInfo.activeProcessorCount
        )
        do {
            return try await ProgressLine.showing({ "\(count.withLock { $0 }) files read" }) { _ in
                try await audit.run(path) { files in count.withLock { $0 = files } }
            }
        } catch let error as AuditError {
            throw CommandFailure("\(Columns.visible(path)): \(error.rawValue)", status: .validationFailure)
        }
    }
}

/// The values of `--fail-on`.
enum FailureWeight: String, CaseIterable, ExpressibleByArgument {
    case error
    case warning

    var severity: Severity {
        switch self {
        case .error: .error
        case .warning: .warning
        }
    }
}

/// The files of the audit besides the app's own.
private enum AuditFiles {
    static func readBaseline(_ path: String) throws -> Baseline {
        let name = Columns.visible(path)
        do {
            return try Baseline(Array(Data(contentsOf: URL(filePath: path))))
        } catch let failure as Baseline.Failure {
            throw CommandFailure("\(name) \(failure.rawValue)", status: .validationFailure)
        } catch {
            throw CommandFailure("\(name) cannot be read", status: .validationFailure)
        }
    }

    static func write(_ document: JSON, to path: String) throws {
        do {
            try Data((document.indented() + "\n").utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw CommandFailure("\(Columns.visible(path)) cannot be written")
        }
    }
}
