package import Encoding
internal import SettingsReader

/// The JSON Schema of the settings file for editors (draft-07, which editors support). It is recorded from the code
/// that reads the settings, so that the two agree. Dependencies between keys are checked by the gateway only.
package enum SettingsSchema {
    /// The whole document.
    package static func document() -> JSONObject {
        let recorder = recorded()
        var schema: JSONObject = [
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Gatehouse settings",
            "description": """
            Config/gatehouse.yaml explains every key. `gatehouse check` also checks how keys fit together.
            """,
        ]
        for (name, value) in object(at: "", recorder.entries) { schema[name] = value }
        schema["definitions"] = [
            "interpolated": [
                "type": "string", "pattern": "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}",
                "description": "Text with ${NAME}, the value of an environment variable.",
            ]
        ]
        return schema
    }

    /// The record of all passes over the readers.
    static func recorded() -> SchemaRecorder {
        SchemaRecorder.recording { _ = GatewaySettings(reading: $0) }
    }

    private static func schema(at path: String, _ entries: [String: SchemaRecorder.Entry]) -> JSON {
        guard let entry = entries[path] else { return true }
        var alternatives = entry.scalars.map(\.json)
        if entry.isList {
            var list: JSONObject = ["type": "array", "items": schema(at: path + "[]", entries)]
            if entry.isNonEmpty { list["minItems"] = 1 }
            alternatives.append(.object(list))
        }
        if let names = entry.names { alternatives.append(.object(named(names, at: path, entries))) }
        if entry.isSection { alternatives.append(.object(object(at: path, entries))) }
        guard let first = alternatives.first else {
            return KeyDescriptions.all[path].map { ["description": .string($0)] } ?? true
        }
        var schema: JSONObject = ["anyOf": .array(alternatives)]
        if alternatives.count == 1, let only = first.objectValue { schema = only }
        if entry.defaults.count == 1, let text = entry.defaults.first ?? nil, let scalar = entry.scalars.first {
            schema["default"] = scalar.json(default: text)
        }
        if let text = KeyDescriptions.all[path] {
            schema["description"] = .string(sentences(text, schema["description"]?.stringValue))
        }
        return .object(schema)
    }

    /// The reference's description of a key, followed by that of its value's kind.
    private static func sentences(_ text: String, _ kind: String?) -> String {
        guard let kind else { return text }
        return text + (text.last == "." ? " " : ". ") + kind
    }

    private static func object(at path: String, _ entries: [String: SchemaRecorder.Entry]) -> JSONObject {
        let section = entries[path] ?? SchemaRecorder.Entry()
        func join(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        let required = section.keys.filter { entries[join($0)]?.demands == section.readings }
        var object: JSONObject = [
            // A section whose keys are all commented out has the defaults.
            "type": required.isEmpty ? ["object", "null"] : "object",
            "additionalProperties": false,
            "properties": .object(JSONObject(section.keys.map { ($0, schema(at: join($0), entries)) })),
        ]
        if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
        return object
    }

    private static func named(
        _ pattern: String, at path: String, _ entries: [String: SchemaRecorder.Entry]
    ) -> JSONObject {
        var object: JSONObject = [
            "type": entries[path]?.needsNames == true ? "object" : ["object", "null"],
            "propertyNames": ["pattern": .string(pattern)],
            "additionalProperties": schema(at: path.isEmpty ? "*" : "\(path).*", entries),
        ]
        if entries[path]?.needsNames == true { object["minProperties"] = 1 }
        return object
    }
}
