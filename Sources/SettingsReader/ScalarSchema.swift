package import Encoding

/// The schema of a single value.
package struct ScalarSchema: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case text
        /// Text other than these words.
        case textBut([String])
        case boolean
        case integer(ClosedRange<Int>)
        /// A closed list.
        case words([String])
        /// Text that a regular expression (ECMA 262) matches.
        case pattern(String)
    }

    let kind: Kind
    /// For people; nil if the kind says everything.
    let description: String?

    package init(_ kind: Kind, _ description: String? = nil) {
        self.kind = kind
        self.description = description
    }

    package static let text = ScalarSchema(.text)
    package static let schemes = "[Hh][Tt][Tt][Pp][Ss]?://"
    package static let url = ScalarSchema(.pattern("^\(schemes)"), "A URL of http or https.")
    package static let path = ScalarSchema(.pattern("^/"), "A path.")
    static let secret = ScalarSchema(.text, "A secret: ${NAME} from the environment, or file: and a path.")
    static let file = ScalarSchema(.text, "The path of a file; a relative one is relative to this file's folder.")

    /// The definition of text with `${NAME}` in the JSON Schema.
    package static let interpolated = "#/definitions/interpolated"

    /// The JSON Schema of this value. `${NAME}` is accepted in place of any kind.
    package var json: JSON {
        var schema: JSONObject
        switch kind {
        case .text: schema = ["type": ["string", "number", "boolean"]]
        case .textBut(let words):
            schema = ["type": ["string", "number"], "not": ["enum": .array(words.map { .string($0) })]]
        case .boolean: schema = Self.orInterpolated(["type": "boolean"])
        case .integer(let range):
            schema = Self.orInterpolated([
                "type": "integer", "minimum": .number(JSONNumber(range.lowerBound)),
                "maximum": .number(JSONNumber(range.upperBound)),
            ])
        case .words(let words): schema = Self.orInterpolated(["enum": .array(words.flatMap(Self.values))])
        case .pattern(let pattern): schema = Self.orInterpolated(["type": "string", "pattern": .string(pattern)])
        }
        if let description { schema["description"] = .string(description) }
        return .object(schema)
    }

    private static func orInterpolated(_ schema: JSON) -> JSONObject {
        ["anyOf": [schema, ["$ref": .string(interpolated)]]]
    }

    /// The values that YAML may parse an unquoted word as: `1.2` is also a number.
    private static func values(_ word: String) -> [JSON] {
        [.string(word)] + [Double(word).flatMap { JSONNumber($0) }.map(JSON.number)].compactMap { $0 }
    }

    /// A default as a JSON value of the type that a file would have.
    package func json(default text: String) -> JSON {
        switch kind {
        case .boolean: .bool(text == "true")
        case .integer: Int(text).map { .number(JSONNumber($0)) } ?? .string(text)
        default: .string(text)
        }
    }
}
