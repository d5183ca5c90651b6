internal import ArgumentParser
internal import Encoding
internal import Keys
internal import Store

/// `gatehouse keys`: the gateway's own keys.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Make, rotate and list the gateway's own keys.",
        discussion: """
            They are in state_directory, each purpose in a file of its own that only its owner may read:

              assertion  signs what backends are told of a caller (identity.assertion)
              session    signs the gateway's own sessions (sign_in.apple.session)
              sealing    seals the refresh tokens that clients keep (unless sealing_keys are configured), and what \
            Sign in with Apple keeps
              audit      hashes what stands for users in the audit log
              limits     hashes what limits count by; with another key all counts and locks begin anew at the next start

            A signing key is published before it signs (next), signs (current), and stays published after that \
            (previous). Of sealing keys the current one seals, all of them open.

            Examples:
              gatehouse keys list --config gatehouse.yaml
              gatehouse keys rotate --config gatehouse.yaml --purpose sealing
            """,
        subcommands: [Generate.self, Rotate.self, List.self])

    struct Generate: ParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make the first keys for a purpose; keys that are there stay as they are.",
            discussion: "Example: gatehouse keys generate --purpose assertion")

        @OptionGroup var options: SettingsOptions
        @OptionGroup var purpose: PurposeOption
        @OptionGroup var output: OutputOptions

        func run() throws {
            let keys = OwnKeys(try options.loadForState())
            try output.report(try keys.generate(purpose.purpose), keys, purpose.purpose)
        }
    }

    struct Rotate: ParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Let the next key take over.",
            discussion: """
                A running gateway follows at SIGHUP, and where keys sign within a minute. The key before stays known for as \
                long as anything it signed or sealed is good.

                Example: gatehouse keys rotate --purpose assertion
                """)

        @OptionGroup var options: SettingsOptions
        @OptionGroup var purpose: PurposeOption

        @Flag(name: .customLong("now"), help: "Also when the next key was published less than publish_ahead ago.")
        var atOnce = false

        @Flag(help: "Others have the key: it goes at once, with all that it signed or sealed.")
        var compromised = false

        @OptionGroup var output: OutputOptions

        func run() throws {
            let keys = OwnKeys(try options.loadForState())
            let done = try keys.rotate(purpose.purpose, atOnce: atOnce, isCompromised: compromised)
            try output.report(done, keys, purpose.purpose)
        }
    }

    struct List: ParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Tell which keys there are: purpose, state, since when, id.",
            discussion: "Example: gatehouse keys list --config Config/gatehouse.yaml")

        @OptionGroup var options: SettingsOptions

        @Option(help: "Only this one: assertion, session, sealing, audit, limits.")
        var purpose: KeyPurpose?

        @OptionGroup var output: OutputOptions

        func run() throws {
            let keys = OwnKeys(try options.loadForState())
            let listed = try (purpose.map { [$0] } ?? KeyPurpose.allCases).flatMap { try keys.list($0) }
            if output.json { return output.report(["keys": .array(listed.map(\.json))], text: "") }
            for key in listed { StandardOutput.line(key.line(on: .standardOutput)) }
        }
    }

    struct PurposeOption: ParsableArguments {
        @Option(help: "What the keys are for: assertion, session, sealing, audit, limits.")
        var purpose: KeyPurpose
    }
}

extension KeyPurpose: ExpressibleByArgument {}

extension OutputOptions {
    /// Reports a completed change, and with `--json` the resulting keys.
    fileprivate func report(_ done: String, _ keys: OwnKeys, _ purpose: KeyPurpose) throws {
        let listed = try keys.list(purpose)
        report(["good": true, "done": true, "text": .string(done), "keys": .array(listed.map(\.json))], text: done)
    }
}

extension OwnKeys.Listed {
    fileprivate var json: JSON {
        ["purpose": .string(purpose.rawValue), "state": .string(state), "since": .string(since), "id": .string(id)]
    }

    /// One line, in columns; the key in use stands out.
    fileprivate func line(on terminal: Terminal) -> String {
        func padded(_ text: String, _ count: Int) -> String {
            text + String(repeating: " ", count: max(1, count - text.count))
        }
        let state = padded(state, 10)
        return padded(purpose.rawValue, 11) + (self.state == "current" ? terminal.styled(.good, state) : state)
            + padded(since, 22) + id
    }
}
