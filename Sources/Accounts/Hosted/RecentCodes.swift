internal import Encoding
internal import Locking
internal import Store

/// Authorization codes whose results also stay in memory until they are looked up: most codes are redeemed shortly
/// afterwards, at the gateway that issued them.
///
/// A result is returned from memory at most once, sealed as it is stored. Only the records decide who uses a code.
final class RecentCodes: AuthorizationCodeRecords {
    private static let capacity = 1024

    private struct Recent: Sendable {
        var poolID: String
        var result: [UInt8]
        var family: [UInt8]
    }

    private let records: any AuthorizationCodeRecords
    private let recent = Locked(ExpiringTable<Recent>(capacity: capacity))

    init(_ records: any AuthorizationCodeRecords) {
        self.records = records
    }

    func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool {
        guard try await records.add(record, now: now) else { return false }
        note(record, now: now)
        return true
    }

    func state(of hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeState {
        if let recent = take(hash, now: now), recent.poolID.hasSameBytes(as: poolID) {
            return .open(result: recent.result, family: recent.family)
        }
        return try await records.state(of: hash, poolID: poolID, now: now)
    }

    func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool {
        try await records.use(hash, poolID: poolID, now: now)
    }

    func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]] {
        try await records.takeUnused(poolID: poolID, now: now, limit: limit)
    }

    func removeEnded(now: Int64) async throws {
        try await records.removeEnded(now: now)
    }

    private func note(_ record: AuthorizationCodeRecord, now: Int64) {
        let recent = Recent(poolID: record.poolID, result: record.result, family: record.family)
        self.recent.withLock {
            $0.set(recent, of: Hexadecimal.encode(record.hash), endsAt: record.expiresAt, at: now)
        }
    }

    private func take(_ hash: [UInt8], now: Int64) -> Recent? {
        let key = Hexadecimal.encode(hash)
        return recent.withLock { recent in
            defer { recent.remove(key) }
            return recent.value(of: key, at: now)
        }
    }
}
