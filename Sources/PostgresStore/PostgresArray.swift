internal import Postgres

extension PostgresValue {
    /// An array as text, for a parameter that the statement casts: `$1::text[]`. The statement is thus the same for any
    /// number of values.
    static func array(_ values: [String?]) -> PostgresValue {
        let elements = values.map { value -> String in
            guard let value else { return "NULL" }
            var element = "\""
            for character in value.unicodeScalars {
                if character == "\"" || character == "\\" { element.unicodeScalars.append("\\") }
                element.unicodeScalars.append(character)
            }
            return element + "\""
        }
        return .text("{\(elements.joined(separator: ","))}")
    }

    /// As above for `$1::int8[]`.
    static func array(_ values: [Int64?]) -> PostgresValue {
        .text("{\(values.map { $0.map(String.init) ?? "NULL" }.joined(separator: ","))}")
    }

    /// As above for `$1::boolean[]`.
    static func array(_ values: [Bool]) -> PostgresValue {
        .text("{\(values.map { $0 ? "t" : "f" }.joined(separator: ","))}")
    }

    static func orNull(_ value: String?) -> PostgresValue { value.map { .text($0) } ?? .null }

    static func orNull(_ value: [UInt8]?) -> PostgresValue { value.map { .bytes($0) } ?? .null }

    static func orNull(_ value: Int64?) -> PostgresValue { value.map { .integer($0) } ?? .null }
}
