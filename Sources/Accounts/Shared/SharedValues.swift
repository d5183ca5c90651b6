internal import Cryptography
package import Sealing
package import Store

/// Values that all gateways of one database share, sealed with keys that all of them have. A value can be unsealed only
/// for its own kind and name.
package struct SharedValues: Sendable {
    private let records: any ShortLivedRecords
    private let keys: SealingKeyRing

    package init(_ records: any ShortLivedRecords, sealingKeys: SealingKeyRing) {
        self.records = records
        keys = sealingKeys
    }

    /// Stores one value under each of the names, for a number of seconds.
    package func keep(
        _ value: [UInt8], _ kind: ShortLivedKind, by names: [String], seconds: Int64
    ) async throws {
        let values = try names.map { name in
            let sealed = try SealedText.seal(value, as: .shared, with: keys, poolID: Self.binding(kind, name))
            return ShortLivedValue(key: name, value: sealed.expose())
        }
        try await records.keep(values, kind, seconds: seconds)
    }

    /// Returns the values that exist and can be unsealed. A value sealed with a key that is gone is omitted.
    package func values(_ kind: ShortLivedKind, by names: [String]) async throws -> [ShortLivedValue] {
        guard !names.isEmpty else { return [] }
        return try await records.values(kind, by: names).compactMap { found in
            open(found.value, kind, found.key).map { ShortLivedValue(key: found.key, value: $0) }
        }
    }

    /// Removes a value and returns it; nil if there is none. Only one of several concurrent callers gets it.
    package func take(_ kind: ShortLivedKind, by name: String) async throws -> [UInt8]? {
        try await records.take(kind, by: name).flatMap { open($0, kind, name) }
    }

    private func open(_ sealed: [UInt8], _ kind: ShortLivedKind, _ name: String) -> [UInt8]? {
        try? SealedText.open(Secret(sealed), as: .shared, with: keys, poolID: Self.binding(kind, name))
    }

    private static func binding(_ kind: ShortLivedKind, _ name: String) -> String { "\(kind.rawValue)\0\(name)" }
}
