import ArgumentParser
import Gateway

/// `gatehouse keys`: the gateway's own keys.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Make, rotate and list the gateway's own keys.",
        discussion: """
            They are in state_directory, each purpose in a file of its own that only its owner may read:

            assertion  signs what backends are told of a caller (identity.assertion)
            session    signs the gateway's own sessions (sign_in.apple.session)
            sealing    seals the refresh tokens that clients keep
            audit      hashes what stands for users in the audit log

            A signing key is published before it signs (next), signs (current), and stays published after that
            (previous). Of sealing keys the current one seals, all of them open.
            """,
        subcommands: [Generate.self, Rotate.self, List.self])

    struct Generate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make the first keys for a purpose; keys that are there stay as they are.",
            discussion: "Example: gatehouse keys generate --config Config/gatehouse.yaml --purpose assertion")

        @OptionGroup var options: SettingsOptions
        @OptionGroup var purpose: PurposeOption

        func run() throws {
            try reportingFaults { print(try OwnKeys(try options.load()).generate(purpose.purpose)) }
        }
    }

    struct Rotate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let the next key take over.",
            discussion: """
                A running gateway follows at SIGHUP, and where keys sign within a minute. The key before stays
                known for as long as anything it signed or sealed is good.

                Example: gatehouse keys rotate --config Config/gatehouse.yaml --purpose assertion
                """)

        @OptionGroup var options: SettingsOptions
        @OptionGroup var purpose: PurposeOption

        @Flag(name: .customLong("now"), help: "Also when the next key was published less than publish_ahead ago.")
        var atOnce = false

        @Flag(help: "Others have the key: it goes at once, with all that it signed or sealed.")
        var compromised = false

        func run() throws {
            try reportingFaults {
                print(
                    try OwnKeys(try options.load()).rotate(
                        purpose.purpose, atOnce: atOnce, isCompromised: compromised))
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tell which keys there are: purpose, state, since when, id.",
            discussion: "Example: gatehouse keys list --config Config/gatehouse.yaml")

        @OptionGroup var options: SettingsOptions

        @Option(help: "Only this one: assertion, session, sealing, audit.")
        var purpose: KeyPurpose?

        func run() throws {
            try reportingFaults {
                let keys = OwnKeys(try options.load())
                for purpose in purpose.map({ [$0] }) ?? KeyPurpose.allCases {
                    for line in try keys.list(purpose) { print(line) }
                }
            }
        }
    }

    struct PurposeOption: ParsableArguments {
        @Option(help: "What the keys are for: assertion, session, sealing, audit.")
        var purpose: KeyPurpose
    }
}

extension KeyPurpose: ExpressibleByArgument {}

/// - Throws: exit status 1 after the fault was printed.
private func reportingFaults(_ body: () throws -> Void) throws {
    do {
        try body()
    } catch let fault as KeyFileFault {
        StandardError.write("\(fault)\n")
        throw ExitCode.failure
    }
}
