import Foundation

extension Gatehouse {
    /// What became of a session that was to be stored.
    enum Storing {
        case stored
        /// Another process has stored a later one of the same sign-in.
        case overtaken(StoredSession)
        /// Another process has signed out, or signed somebody in.
        case replaced
    }

    /// Stores the next tokens of a sign-in that goes on.
    ///
    /// - Parameter sent: the token that the refresh showed.
    /// - Throws: ``StoreFailure``.
    func store(_ new: StoredSession, inPlaceOf sent: Secret) async throws -> Storing {
        // Others write at most a few times: each of them ends the loop for this process or is behind it.
        for _ in 0..<8 {
            var next = item ?? StoredItem(deviceID: UUID().uuidString.lowercased())
            next.session = new
            let data = try Self.encoded(next)
            if try await store.replace(stored, with: data) {
                (stored, item) = (data, next)
                return .stored
            }
            let found = try await store.read()
            stored = found
            guard let found, let decoded = try? JSONDecoder().decode(StoredItem.self, from: found) else {
                return .replaced
            }
            item = decoded
            guard let other = decoded.session, other.generation == new.generation else { return .replaced }
            if other.renewal != sent, other.renewal != new.renewal, other.expiresAt >= new.expiresAt {
                return .overtaken(other)
            }
        }
        throw StoreFailure.failed("others write at the same time")
    }

    /// Stores a new sign-in's session, whatever was stored.
    ///
    /// - Throws: ``StoreFailure``.
    func storeSignIn(_ new: StoredSession?) async throws {
        for _ in 0..<8 {
            var next = item ?? StoredItem(deviceID: UUID().uuidString.lowercased())
            next.session = new
            let data = try Self.encoded(next)
            if try await store.replace(stored, with: data) {
                (stored, item) = (data, next)
                return
            }
            stored = try await store.read()
        }
        throw StoreFailure.failed("others write at the same time")
    }

    static func encoded(_ item: StoredItem) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(item)
    }
}
