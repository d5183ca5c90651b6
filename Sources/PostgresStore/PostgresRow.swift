internal import Postgres

/// A row with access by column name.
struct PostgresRow {
    struct MissingColumn: Error {
        let name: String
    }

    let columns: [String]
    let values: [PostgresValue]

    private func value(_ name: String) throws -> PostgresValue {
        guard let index = columns.firstIndex(of: name) else { throw MissingColumn(name: name) }
        return values[index]
    }

    /// - Throws: ``MissingColumn`` if the column is missing, has another type, or is NULL.
    func integer(_ name: String) throws -> Int64 {
        guard case .integer(let value) = try value(name) else { throw MissingColumn(name: name) }
        return value
    }

    func text(_ name: String) throws -> String {
        guard case .text(let value) = try value(name) else { throw MissingColumn(name: name) }
        return value
    }

    func bytes(_ name: String) throws -> [UInt8] {
        guard case .bytes(let value) = try value(name) else { throw MissingColumn(name: name) }
        return value
    }

    func boolean(_ name: String) throws -> Bool {
        guard case .boolean(let value) = try value(name) else { throw MissingColumn(name: name) }
        return value
    }

    /// The value, read by one of the functions above; nil for NULL.
    func optional<Value>(_ read: (PostgresRow) -> (String) throws -> Value, _ name: String) throws -> Value? {
        if case .null = try value(name) { return nil }
        return try read(self)(name)
    }
}
