/// A JSON value (RFC 8259). Strings are not normalised, and numbers keep their text.
package enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    @inlinable
    package var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// A boolean, or the text of one, which some issuers write instead.
    package var flagValue: Bool? {
        switch self {
        case true, "true": true
        case false, "false": false
        default: nil
        }
    }

    @inlinable
    package var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    @inlinable
    package var arrayValue: [JSON]? {
        if case .array(let value) = self { value } else { nil }
    }

    @inlinable
    package var objectValue: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    @inlinable
    package var numberValue: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number's value if it is integral and fits, also when written as `1.0` or `1e3`.
    package var integerValue: Int64? { numberValue?.integerValue }

    /// The member of this name, if this is an object that has it.
    package subscript(name: String) -> JSON? { objectValue?[name] }
}

extension JSON: Equatable {
    /// Strings are equal if they have the same bytes, numbers if they have the same text.
    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    package init(floatLiteral value: Double) { self = JSONNumber(value).map(JSON.number) ?? .null }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) { self = .object(JSONObject(elements)) }
}
