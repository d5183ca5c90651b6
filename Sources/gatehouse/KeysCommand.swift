internal import ArgumentParser
internal import Encoding
internal import Keys
internal import Store

/// `gatehouse keys`: manages the gateway's own keys.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Generate, rotate and list the gateway's own keys.",
        discussion: """
            The keys are in state_directory. Each purpose has a file that only its owner may read:

              assertion  signs the assertions for backends (identity.assertion)
              session    signs the gateway's own sessions (sign_in.apple.session)
              sealing    seals refresh tokens for clients (without sealing_keys), and stored tokens of Apple
              audit      hashes users in the logs
              limits     hashes accounts and addresses in limits; a new key resets all counts and locks at the next start

            With state.postgres the keys are in the database that several gateways share, sealed with \
            state.postgres.sealing_keys.

            A signing key is first published (next), then signs (current), and then stays published (previous). The \
            current sealing key seals, and all of them open.

            Examples:
              gatehouse keys list --config gatehouse.yaml
              gatehouse keys rotate --config gatehouse.yaml --purpose sealing
            """,
        subcommands: [Generate.self, Rotate.self, Reseal.self, List.self])

    struct Generate: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Generate the first keys for a purpose. Existing keys do not change.",
            discussion: "Example: gatehouse keys generate --purpose assertion")

        @OptionGroup var options: SettingsOptions
        @OptionGroup var purpose: PurposeOption
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let keys = try await options.ownKeys()
            try await output.report(try await keys.generate(purpose.purpose), keys, purpose.purpose)
        }
    }

    struct Rotate: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the current key with the next one.",
            discussion: """
                A running gateway uses the new key after SIGHUP, and a signing key within a minute. Gateways with a shared \
                database follow within ten seconds. The previous key stays in use for as long as anything that it signed or \
                sealed is valid.

                Example: gatehouse keys rotate --purpose assertion
                """)

        @OptionGroup var options: SettingsOptions
        @OptionGroup var purpose: PurposeOption

        @Flag(name: .customLong("now"), help: "Rotate even if the next key was published less than publish_ahead ago.")
        var atOnce = false

        @Flag(help: "Remove the key at once; all that it signed or sealed becomes invalid.")
        var compromised = false

        @Flag(help: "With --compromised: remove all keys of this purpose, after a leak of the state directory.")
        var all = false

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard compromised || !all else { throw ValidationError("--all needs --compromised.") }
        }

        func run() async throws {
            let keys = try await options.ownKeys()
            let discarded: DiscardedKeys = compromised ? (all ? .all : .current) : .none
            let done = try await keys.rotate(purpose.purpose, atOnce: atOnce, discarding: discarded)
            try await output.report(done, keys, purpose.purpose)
        }
    }

    struct List: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys: purpose, state, since when, id.",
            discussion: "Example: gatehouse keys list --config Config/gatehouse.yaml")

        @OptionGroup var options: SettingsOptions

        @Option(help: "Only this purpose: assertion, session, sealing, audit, limits.")
        var purpose: KeyPurpose?

        @OptionGroup var output: OutputOptions

        func run() async throws {
            let keys = try await options.ownKeys()
            var listed: [OwnKeys.Listed] = []
            for purpose in purpose.map({ [$0] }) ?? KeyPurpose.allCases { listed += try await keys.list(purpose) }
            if output.json { return output.report(["keys": .array(listed.map(\.json))], text: "") }
            for key in listed { StandardOutput.line(key.line(on: .standardOutput)) }
        }
    }

    struct Reseal: AsyncParsableCommand, ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Seal the keys in a shared database with the first of state.postgres.sealing_keys.",
            discussion: """
                All gateways must have that key, in any place of their lists. The keys themselves do not change. Keys in \
                state_directory are not sealed.

                Example: gatehouse keys reseal --config gatehouse.yaml
                """)

        @OptionGroup var options: SettingsOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let done = try await options.ownKeys().reseal()
            output.report(["good": true, "done": true, "text": .string(done)], text: done)
        }
    }

    struct PurposeOption: ParsableArguments {
        @Option(help: "The keys' purpose: assertion, session, sealing, audit, limits.")
        var purpose: KeyPurpose
    }
}

extension KeyPurpose: ExpressibleByArgument {}

extension SettingsOptions {
    fileprivate func ownKeys() async throws -> OwnKeys {
        let settings = try loadForState()
        return OwnKeys(settings, try await keyRings(settings))
    }
}

extension OutputOptions {
    /// Reports a completed change, and with `--json` the resulting keys.
    fileprivate func report(_ done: String, _ keys: OwnKeys, _ purpose: KeyPurpose) async throws {
        let listed = try await keys.list(purpose)
        report(["good": true, "done": true, "text": .string(done), "keys": .array(listed.map(\.json))], text: done)
    }
}

extension OwnKeys.Listed {
    fileprivate var json: JSON {
        ["purpose": .string(purpose.rawValue), "state": .string(state), "since": .string(since), "id": .string(id)]
    }

    /// One line in columns; the current key is highlighted.
    fileprivate func line(on terminal: Terminal) -> String {
        func padded(_ text: String, _ count: Int) -> String {
            text + String(repeating: " ", count: max(1, count - text.count))
        }
        let state = padded(state, 10)
        return padded(purpose.rawValue, 11) + (self.state == "current" ? terminal.styled(.good, state) : state)
            + padded(since, 22) + id
    }
}
