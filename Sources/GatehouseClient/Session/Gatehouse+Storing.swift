import Foundation

extension Gatehouse {
    enum Storing {
        case stored
        /// Another process has stored a later one of the same sign-in.
        case overtaken(StoredSession)
        /// Another process has signed out, or signed somebody in: the store's value by now. It is not taken over yet.
        case replaced(Data?)
    }

    /// Stores the session in use, or notes that it is to be stored with the next use.
    ///
    /// - Parameter sent: the token that the refresh showed; nil for a sign-in.
    func persist(_ new: StoredSession, inPlaceOf sent: Secret?) async throws -> Storing {
        // A sign-in that could not be stored replaces whatever is there.
        let sent = isUnstoredSignIn ? nil : sent
        do {
            let storing = try await store(new, inPlaceOf: sent)
            if unstored?.generation == new.generation { unstored = nil }
            return storing
        } catch {
            if session?.generation == new.generation { unstored = (new.generation, sent) }
            throw error
        }
    }

    /// Whether the session in use is of a sign-in that the store does not have.
    var isUnstoredSignIn: Bool { unstored.map { $0.sent == nil && $0.generation == session?.generation } ?? false }

    /// Stores what could not be stored when it came, as far as the store works by now.
    func storeUnstored() async {
        guard let pending = unstored, let session, pending.generation == session.generation else { return }
        do {
            let storing = try await persist(session, inPlaceOf: pending.sent)
            guard self.session?.generation == session.generation else { return }
            switch storing {
            case .stored: break
            case .overtaken(let other): use(other)
            case .replaced(let found): _ = await replacedElsewhere(found)
            }
        } catch {
            // It was reported when it first failed, and is tried again.
        }
    }

    /// Stores a new sign-in's session, whatever was stored, or the next tokens of one that goes on.
    func store(_ new: StoredSession, inPlaceOf sent: Secret?) async throws -> Storing {
        // Others write at most a few times: each of them ends the loop for this process or is behind it.
        for _ in 0..<8 {
            // Signed out meanwhile.
            if sent == nil, session?.generation != new.generation { return .replaced(stored) }
            var next = item ?? StoredItem(deviceID: UUID().uuidString.lowercased())
            next.session = new
            // The user that is in use: it may have been changed meanwhile.
            if let session, session.generation == new.generation { next.session?.user = session.user }
            let data = try Self.encoded(next)
            if try await store.replace(stored, with: data) {
                (stored, item) = (data, next)
                return .stored
            }
            let found = try await store.read()
            if let sent {
                let decoded = Self.decoded(found)
                guard var other = decoded?.session, other.generation == new.generation else { return .replaced(found) }
                mergeUser(&other)
                item = decoded
                if other.renewal != sent, other.renewal != new.renewal, other.expiresAt >= new.expiresAt {
                    stored = found
                    // With this process's change of the user. If that fails, the next refresh stores it.
                    if var kept = decoded, other.user != kept.session?.user {
                        kept.session = other
                        let data = try Self.encoded(kept)
                        if (try? await store.replace(found, with: data)) == true { (stored, item) = (data, kept) }
                    }
                    return .overtaken(other)
                }
            }
            stored = found
        }
        throw StoreFailure.failed("others write at the same time")
    }

    /// Keeps a change of the user: this process's, or else that of the one that has stored `other`.
    func mergeUser(_ other: inout StoredSession) {
        guard let session, session.generation == other.generation else { return }
        if session.user != item?.session?.user { other.user = session.user }
        self.session?.user = other.user
        become(.signedIn(other.user, isFresh: remaining(session) > 0))
    }

    static func encoded(_ item: StoredItem) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(item)
    }

    /// - Returns: nil if nothing is stored, or something else.
    static func decoded(_ found: Data?) -> StoredItem? {
        found.flatMap { try? JSONDecoder().decode(StoredItem.self, from: $0) }
    }
}
