internal import ArgumentParser
internal import Encoding
internal import Keys
internal import Store

/// `gatehouse store`: the gateway's database.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Back up, restore and check the gateway's database.",
        discussion: """
            It is gatehouse.sqlite in state_directory: users, sessions, revocations, counts of failed sign-ins, and \
            messages that wait. The keys are beside it, in files of their own (gatehouse keys): without the sealing \
            keys nobody can refresh a session that is restored. So back them up too, or put --with-keys.

            Example: gatehouse store backup --with-keys /backups/gatehouse-monday.sqlite
            """,
        subcommands: [BackUp.self, Restore.self, Check.self])

    struct BackUp: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            commandName: "backup",
            abstract: "Copy the database to a new file, while the gateway runs.",
            discussion: """
                The copy is of one moment and one file, that only its owner may read.

                Example: gatehouse store backup /backups/gatehouse-monday.sqlite
                """)

        @OptionGroup var options: SettingsOptions

        @Argument(help: "The file to write; it must not be there.", completion: .file())
        var file: String

        @Flag(help: "Put the keys of the state directory into the copy too; it is then as secret as they are.")
        var withKeys = false

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let copies = StoreCopies(try options.loadForState())
            let progress = { @Sendable [file] in copies.progress(ofCopyTo: file) }
            let done = try await ProgressLine.showing(progress) { _ in
                try copies.backUp(to: file, withKeys: withKeys)
            }
            output.done(done)
        }
    }

    struct Restore: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a backup in the database's place; what was there is kept.",
            discussion: """
                No gateway may run on the state directory. A backup that is damaged, or by a newer version, is refused. \
                Sessions and revocations are then those of the backup's time: who signed out since may be in again.

                Everything is staged and checked before anything is replaced. A restore that fails changes nothing. After \
                one that was interrupted, as by a loss of power, no gateway starts until it is repeated or undone.

                Examples:
                  gatehouse store restore /backups/gatehouse-monday.sqlite
                  gatehouse store restore --undo
                """)

        @OptionGroup var options: SettingsOptions

        @Argument(help: "The backup.", completion: .file())
        var file: String?

        @Flag(help: "Put the backup's keys in the place of those that are there, which are kept.")
        var withKeys = false

        @Flag(help: "Put back what was there before a restore that was interrupted.")
        var undo = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (file == nil) == undo, !(undo && withKeys) else {
                throw ValidationError("Give a backup to restore, or --undo alone.")
            }
        }

        func run() async throws {
            let copies = StoreCopies(try options.loadForState())
            guard let file else { return output.done(try copies.undoRestore()) }
            let progress = { @Sendable [file] in copies.progress(ofRestoreFrom: file) }
            let done = try await ProgressLine.showing(progress) { _ in
                try await copies.restore(from: file, withKeys: withKeys)
            }
            output.done(done)
        }
    }

    struct Check: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tell whether a database is whole, and what it holds.",
            discussion: """
                Exit status 0: whole, and of this version or one before; 1: not, or it cannot be read. A gateway may \
                run meanwhile.

                Examples:
                  gatehouse store check --config Config/gatehouse.yaml
                  gatehouse store check --json /backups/gatehouse-monday.sqlite
                """)

        @OptionGroup var options: SettingsOptions

        @Argument(help: "A backup; without it the state directory's own.", completion: .file())
        var file: String?

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let copies = StoreCopies(try options.loadForState())
            let progress = { @Sendable [file] in copies.progress(ofCheck: file) }
            let report = try await ProgressLine.showing(progress) { _ in try await copies.check(file) }
            output.report(report.json, text: report.text(on: .standardOutput))
            if !report.isGood { throw ExitCode.failure }
        }
    }
}

extension StoreReport {
    fileprivate var json: JSONObject {
        [
            "good": .bool(isGood), "faults": .array(errors.map(JSON.string)), "schema": .string(schemaState),
            "schema_difference": .array(schemaDifference.map(JSON.string)),
            "rows": .object(JSONObject(rows.map { ($0.table, JSON.number(JSONNumber($0.count))) })),
        ]
    }

    fileprivate func text(on terminal: Terminal) -> String {
        var lines = [terminal.styled(isGood ? .good : .bad, isGood ? "good" : "not good")]
        lines += errors.map { "\(terminal.styled(.bad, "fault")): \($0)" }
        let difference = schemaDifference.isEmpty ? "" : " (\(schemaDifference.joined(separator: ", ")))"
        lines.append("schema: \(schemaState)\(difference)")
        lines += rows.map { "\($0.table): \($0.count)" }
        return lines.joined(separator: "\n")
    }

    private var schemaState: String {
        switch schema {
        case .current: "current"
        case .older: "older"
        case .newer: "newer"
        case .unreadable: "unreadable"
        }
    }

    /// The steps that are missing, or not known.
    private var schemaDifference: [String] {
        switch schema {
        case .current, .unreadable: []
        case .older(let names), .newer(let names): names
        }
    }
}
