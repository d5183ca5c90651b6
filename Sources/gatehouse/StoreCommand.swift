internal import ArgumentParser
internal import Gateway
internal import Keys
internal import Settings
internal import Store

/// `gatehouse store`: manages the gateway's database.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Back up, restore, move and check the gateway's database.",
        discussion: """
            The database is gatehouse.sqlite in state_directory: users, sessions, revocations, counts of failed \
            sign-ins, and waiting messages. The keys are beside it in their own files (gatehouse keys). Without \
            the sealing keys nobody can refresh a restored session. So back them up too, or use --with-keys.

            With state.postgres the database is the one in PostgreSQL that several gateways share, keys included.

            Example: gatehouse store backup --with-keys /backups/gatehouse-monday.sqlite
            """,
        subcommands: [BackUp.self, Restore.self, Check.self, Report.self, Migrate.self, Copy.self])

    struct BackUp: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            commandName: "backup",
            abstract: "Copy the database to a new file, while the gateway runs.",
            discussion: """
                The copy is a consistent snapshot in one file that only its owner may read.

                Example: gatehouse store backup /backups/gatehouse-monday.sqlite
                """)

        @OptionGroup var options: SettingsOptions

        @Argument(help: "The file to write. It must not exist.", completion: .file())
        var file: String

        @Flag(help: "Include the keys of the state directory. The copy is then as secret as they are.")
        var withKeys = false

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let settings = try options.loadForState()
            if settings.state != nil {
                let transfer = try StateTransfer(settings)
                return output.done(
                    try await RecordCount.showing {
                        try await transfer.backUp(to: file, withKeys: withKeys, report: $0)
                    })
            }
            let copies = StoreCopies(settings)
            let progress = { @Sendable [file] in copies.progress(ofCopyTo: file) }
            let done = try await ProgressLine.showing(progress) { _ in
                try copies.backUp(to: file, withKeys: withKeys)
            }
            output.done(done)
        }
    }

    struct Restore: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the database with a backup. The old one is renamed.",
            discussion: """
                No gateway may run on the state directory. Backups that are damaged or of a newer version are refused. \
                Sessions and revocations are those of the backup: a user who signed out since may be signed in again.

                Everything is staged and checked before anything is replaced. A restore that fails changes nothing. If a \
                restore is interrupted, for example by a power loss, no gateway starts until it is repeated or undone.

                In PostgreSQL a restore is one transaction. It replaces records only with --replace.

                Examples:
                  gatehouse store restore /backups/gatehouse-monday.sqlite
                  gatehouse store restore --undo
                """)

        @OptionGroup var options: SettingsOptions

        @Argument(help: "The backup.", completion: .file())
        var file: String?

        @Flag(help: "Replace the keys with the backup's. The old ones are renamed.")
        var withKeys = false

        @Flag(help: "Undo a restore that was interrupted.")
        var undo = false

        @Flag(help: "In PostgreSQL: remove the records that are there, and with --with-keys the keys.")
        var replace = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (file == nil) == undo, !(undo && withKeys) else {
                throw ValidationError("Give a backup to restore, or --undo alone.")
            }
        }

        func run() async throws {
            let settings = try options.loadForState()
            if settings.state != nil {
                guard let file else { throw ValidationError("In PostgreSQL there is nothing to undo.") }
                let transfer = try StateTransfer(settings)
                return output.done(
                    try await RecordCount.showing {
                        try await transfer.restore(from: file, withKeys: withKeys, replaces: replace, report: $0)
                    })
            }
            let copies = StoreCopies(settings)
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
            abstract: "Check whether a database is intact, and count its rows.",
            discussion: """
                Exit status 0 means that the database is intact and of this or an earlier version, 1 that it is not, or \
                that it cannot be read. A gateway may run at the same time.

                Examples:
                  gatehouse store check --config Config/gatehouse.yaml
                  gatehouse store check --json /backups/gatehouse-monday.sqlite
                """)

        @OptionGroup var options: SettingsOptions

        @Argument(help: "A backup. Default: the database in the state directory.", completion: .file())
        var file: String?

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let settings = try options.loadForState()
            guard file != nil || settings.state == nil else {
                throw ValidationError(
                    "Only files are checked. For the database in PostgreSQL use gatehouse store report.")
            }
            let copies = StoreCopies(settings)
            let progress = { @Sendable [file] in copies.progress(ofCheck: file) }
            let report = try await ProgressLine.showing(progress) { _ in try await copies.check(file) }
            output.report(report.json, text: report.text(on: .standardOutput))
            if !report.isGood { throw ExitCode.failure }
        }
    }
}
