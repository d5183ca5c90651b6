internal import Cryptography
package import Sealing
package import Store

/// The reason that the keys that several gateways share cannot be used, worded for operators.
package struct SharedKeyError: Error, Equatable, CustomStringConvertible {
    /// The configuration key for the keys that seal the rings.
    package static let setting = "state.postgres.sealing_keys"

    package let description: String

    init(_ purpose: KeyPurpose, _ what: String) {
        description = "the \(purpose.rawValue) keys in the database \(what)"
    }
}

/// The keys of one purpose in a database that several gateways share. Keys of the configuration seal them, and bind
/// them to their purpose and version.
package struct SharedKeyRing: KeyRingStorage {
    package let purpose: KeyPurpose
    private let records: any KeyRingRecords
    private let sealingKeys: SealingKeyRing

    package var place: String { "\(purpose.rawValue) keys in the database" }
    package var isShared: Bool { true }

    /// The maximum number of attempts at a change in competition with other writers, each of which changes a ring
    /// seldom.
    private static let tries = 16

    /// - Parameter sealingKeys: the first seals, all open.
    package init(_ purpose: KeyPurpose, _ records: any KeyRingRecords, sealedWith sealingKeys: SealingKeyRing) {
        self.purpose = purpose
        self.records = records
        self.sealingKeys = sealingKeys
    }

    package func read() async throws -> KeyRing? {
        try await records.keyRing(purpose).map(open)
    }

    package func update(_ change: @Sendable (inout KeyRing?) throws -> Void) async throws -> KeyRing {
        for _ in 0..<Self.tries {
            let record = try await records.keyRing(purpose)
            let before = try record.map(open)
            var ring = before
            try change(&ring)
            guard let ring else { throw SharedKeyError(purpose, "are missing, and none were made") }
            guard ring != before else { return ring }
            if try await put(ring, after: record) { return ring }
        }
        throw SharedKeyError(purpose, "are changed by others all the time; try again")
    }

    package func reseal() async throws -> Bool {
        for _ in 0..<Self.tries {
            guard let record = try await records.keyRing(purpose) else { return false }
            let ring = try open(record)
            guard !SealedText.isCurrent(Secret(record.sealed), sealingKeys) else { return false }
            if try await put(ring, after: record) { return true }
        }
        throw SharedKeyError(purpose, "are changed by others all the time; try again")
    }

    private func put(_ ring: KeyRing, after record: KeyRingRecord?) async throws -> Bool {
        try await records.replace(with: sealed(ring, version: (record?.version ?? 0) + 1), for: purpose)
    }

    func sealed(_ ring: KeyRing, version: Int64) throws -> KeyRingRecord {
        let sealed = try SealedText.seal(
            ring.encoded(for: purpose), as: .keyRing, with: sealingKeys, poolID: binding(version))
        return KeyRingRecord(version: version, sealed: sealed.expose())
    }

    /// The purpose and version to which a sealed ring is bound.
    private func binding(_ version: Int64) -> String { "\(purpose.rawValue) \(version)" }

    private func open(_ record: KeyRingRecord) throws -> KeyRing {
        let text = Secret(record.sealed)
        guard let name = SealedText.keyID(of: text) else {
            throw SharedKeyError(purpose, "are damaged; restore them from a backup")
        }
        guard sealingKeys.holds(name) else {
            throw SharedKeyError(
                purpose,
                "are sealed with the key \"\(name)\", which is missing under \(SharedKeyError.setting): add it there, "
                    + "also after another one that is to seal")
        }
        do {
            let bytes = try SealedText.open(text, as: .keyRing, with: sealingKeys, poolID: binding(record.version))
            return try KeyRing(decoding: bytes, for: purpose)
        } catch is InvalidSealedToken {
            throw SharedKeyError(
                purpose,
                "do not open with the key \"\(name)\" of \(SharedKeyError.setting): enter the key that has sealed them "
                    + "under this name; if it is the right one, they are damaged and must be restored from a backup")
        } catch {
            throw SharedKeyError(
                purpose, "have a form that this version does not know: use the version that wrote them, or a newer one")
        }
    }
}
