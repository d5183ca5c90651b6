import ArgumentParser
import Encoding
import Settings

/// `gatehouse schema`: the settings' schema for editors.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of the settings, for editors.",
        discussion: """
            With it an editor completes keys, says what each is for, and marks what is unknown or of the wrong type (draft-07, \
            made by the same code that reads the settings). `gatehouse check` says more: what must fit together, and what \
            files hold.

            For editors with the YAML language server, as the first line of gatehouse.yaml:
              # yaml-language-server: $schema=gatehouse.schema.json

            Example: gatehouse schema > gatehouse.schema.json
            """)

    func run() {
        StandardOutput.line(JSON.object(SettingsSchema.document()).indented())
    }
}
