internal import ArgumentParser
internal import Gateway
internal import Keys
internal import Locking
internal import Settings
internal import Store

/// Commands for the schema, and for moving the state between its locations.
extension StoreCommand {
    struct Report: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Report the schema of the database, and the rows of each table.",
            discussion: "Example: gatehouse store report --config gatehouse.yaml --json")

        @OptionGroup var options: SettingsOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let settings = try options.loadForState()
            let report =
                settings.state == nil
                ? try await StoreCopies(settings).check(nil) : try await StateTransfer(settings).report()
            output.report(report.json, text: report.text(on: .standardOutput))
            if !report.isGood { throw ExitCode.failure }
        }
    }

    struct Migrate: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Bring the database to the schema of this version.",
            discussion: """
                A gateway does that when it starts. Use this command where the gateways' role may not make tables, with a \
                configuration that names a role that may.

                Example: gatehouse store migrate --config gatehouse.yaml
                """)

        @OptionGroup var options: SettingsOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let settings = try options.loadForState()
            if settings.state != nil { return output.done(try await StateTransfer(settings).migrate()) }
            let store = try GatewayStore.open(in: settings.stateDirectory)
            output.done("the schema is current: \(store.schemaVersion) steps")
        }
    }

    struct Copy: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move all records and keys between state_directory and PostgreSQL.",
            discussion: """
                Stop all gateways first. The place that is copied from stays as it is. If the command is interrupted, the \
                place that is copied to has no records, and you can run it again.

                Examples:
                  gatehouse store copy --config gatehouse.yaml --from directory --to postgres
                  gatehouse store copy --config gatehouse.yaml --from postgres --to directory
                """)

        enum Place: String, ExpressibleByArgument, CaseIterable {
            case directory
            case postgres
        }

        @OptionGroup var options: SettingsOptions

        @Option(help: "directory or postgres.")
        var from: Place

        @Option(help: "The other one of the two.")
        var to: Place

        @Flag(help: "To PostgreSQL: remove the records and keys that are there.")
        var replace = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard from != to else { throw ValidationError("--from and --to must differ.") }
            guard !replace || to == .postgres else { throw ValidationError("--replace goes with --to postgres.") }
        }

        func run() async throws {
            let transfer = try StateTransfer(try options.loadForState())
            output.done(
                try await RecordCount.showing { report in
                    switch to {
                    case .postgres: try await transfer.fromDirectory(replaces: replace, report: report)
                    case .directory: try await transfer.toDirectory(report: report)
                    }
                })
        }
    }
}

/// A progress line with the number of records copied so far.
enum RecordCount {
    static func showing<Value>(_ body: (@escaping @Sendable (Int) -> Void) async throws -> Value) async throws -> Value
    {
        let count = Locked(0)
        return try await ProgressLine.showing({ "\(count.withLock { $0 }) records" }) { _ in
            try await body { total in count.withLock { $0 = total } }
        }
    }
}
