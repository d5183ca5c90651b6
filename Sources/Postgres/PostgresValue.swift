/// A value of a parameter or a column.
package enum PostgresValue: Sendable, Equatable {
    case null
    /// `bigint`; for columns also smaller integers, `oid`, `xid` and `xid8`.
    case integer(Int64)
    /// `text`; for columns also `varchar` and `name`.
    case text(String)
    /// `bytea`.
    case bytes([UInt8])
    /// `boolean`.
    case boolean(Bool)

    /// PostgreSQL's type OIDs (pg_type.dat).
    private enum TypeID {
        static let bool: UInt32 = 16
        static let bytea: UInt32 = 17
        static let name: UInt32 = 19
        static let int8: UInt32 = 20
        static let int2: UInt32 = 21
        static let int4: UInt32 = 23
        static let text: UInt32 = 25
        static let oid: UInt32 = 26
        static let xid: UInt32 = 28
        static let varchar: UInt32 = 1043
        static let void: UInt32 = 2278
        static let xid8: UInt32 = 5069
    }

    /// The type OID of a parameter; 0 lets the server infer it.
    var typeID: UInt32 {
        switch self {
        case .null: 0
        case .integer: TypeID.int8
        case .text: TypeID.text
        case .bytes: TypeID.bytea
        case .boolean: TypeID.bool
        }
    }

    /// The binary form of a parameter; nil for NULL.
    var encoded: [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let value): (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        case .boolean(let isTrue): [isTrue ? 1 : 0]
        }
    }

    /// Nil if the type is not supported, or if the bytes are not valid for it.
    ///
    /// - Parameter bytes: the binary form of a column.
    init?(_ bytes: UnsafeRawBufferPointer, typeID: UInt32) {
        switch (typeID, bytes.count) {
        case (TypeID.bool, 1): self = .boolean(bytes[0] != 0)
        case (TypeID.int8, 8), (TypeID.int4, 4), (TypeID.int2, 2):
            let isNegative = bytes[0] & 0x80 != 0
            self = .integer(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
        case (TypeID.oid, 4), (TypeID.xid, 4), (TypeID.xid8, 8):
            self = .integer(Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }))
        case (TypeID.text, _), (TypeID.varchar, _), (TypeID.name, _):
            guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
            self = .text(text)
        case (TypeID.bytea, _): self = .bytes([UInt8](bytes))
        case (TypeID.void, 0): self = .null
        default: return nil
        }
    }
}

/// The rows returned by a statement.
package struct PostgresRows: Sendable, Equatable {
    package let columns: [String]
    /// Each row has a value for each column.
    package let rows: [[PostgresValue]]
    /// The number of rows that the statement has changed or returned.
    package let count: Int

    package var first: [PostgresValue]? { rows.first }
}

/// A notification sent with `NOTIFY`.
package struct PostgresNotification: Sendable, Equatable {
    package let channel: String
    package let payload: String
}
