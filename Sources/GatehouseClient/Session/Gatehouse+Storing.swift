import Foundation

extension Gatehouse {
    /// The result of storing a session.
    enum Storing {
        case stored
        /// Another process has stored a later one of the same sign-in.
        case overtaken(StoredSession)
        /// Another process has signed out, or signed somebody in.
        case replaced
    }

    /// Stores the session in use, or notes that it is to be stored with the next use.
    ///
    /// - Parameter sent: the token that the refresh showed; nil for a sign-in.
    /// - Throws: ``StoreFailure``.
    func persist(_ new: StoredSession, inPlaceOf sent: Secret?) async throws -> Storing {
        // A sign-in that could not be stored replaces whatever is there.
        let isSignIn = sent == nil || isUnstoredSignIn
        do {
            var storing = Storing.stored
            if let sent, !isSignIn {
                storing = try await store(new, inPlaceOf: sent)
            } else {
                try await storeSignIn(new)
            }
            if unstored?.generation == new.generation { unstored = nil }
            return storing
        } catch {
            if session?.generation == new.generation { unstored = (new.generation, isSignIn ? nil : sent) }
            throw error
        }
    }

    /// Whether the session in use is of a sign-in that the store does not have.
    var isUnstoredSignIn: Bool {
        guard let unstored, let session else { return false }
        return unstored.sent == nil && unstored.generation == session.generation
    }

    /// Stores what could not be stored when it came, as far as the store works by now.
    func storeUnstored() async {
        guard let pending = unstored, let session, pending.generation == session.generation else { return }
        do {
            let storing = try await persist(session, inPlaceOf: pending.sent)
            guard self.session?.generation == session.generation else { return }
            switch storing {
            case .stored: break
            case .overtaken(let other): use(other)
            case .replaced: _ = await replacedElsewhere(stored)
            }
        } catch {
            // It was reported when it first failed, and is tried again.
        }
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

    /// Stores a new sign-in's session, whatever was stored, unless the user is signed out meanwhile.
    ///
    /// - Throws: ``StoreFailure``.
    func storeSignIn(_ new: StoredSession) async throws {
        for _ in 0..<8 {
            guard session?.generation == new.generation else { return }
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
