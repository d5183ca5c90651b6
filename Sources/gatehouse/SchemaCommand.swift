import ArgumentParser
import Encoding
import Settings

/// `gatehouse schema`: prints the JSON Schema of the settings for editors.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of the configuration, for editors.",
        discussion: """
            With the schema an editor completes keys, describes each key, and marks unknown keys and wrong types. It is \
            draft-07, made by the same code that reads the configuration. `gatehouse check` also checks how keys fit \
            together, and what files contain.

            For editors with the YAML language server, as the first line of gatehouse.yaml:
              # yaml-language-server: $schema=gatehouse.schema.json

            Example: gatehouse schema > gatehouse.schema.json
            """)

    func run() {
        StandardOutput.line(JSON.object(SettingsSchema.document()).indented())
    }
}
