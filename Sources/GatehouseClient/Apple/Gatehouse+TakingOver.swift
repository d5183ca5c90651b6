import Foundation

extension Gatehouse {
    /// Goes on with the session that an older version of the app left. Call it at launch, from the app and not from its
    /// extensions.
    ///
    /// The first token that a source has is exchanged at the gateway. The new session is stored and read back; then the
    /// token is removed from its source, and the user read. If a step fails, nothing is removed: call it again at the
    /// next launch, which also repeats a removal that failed. It has no other effect once the store has anything:
    /// nobody's session replaces another's, and a sign-out stays one.
    ///
    /// - Returns: the user; nil if nothing was taken over.
    /// - Throws: ``GatehouseError``. After ``GatehouseError/wrongCredentials(_:)`` the user must sign in. If the session
    ///   could not be stored, or the user not be read, it is in use all the same.
    @discardableResult
    public func takeOver(from sources: [LegacyTokens]) async throws -> User? {
        if let takingOver { return try await takingOver.value }
        let task = Task { try await takenOver(sources) }
        takingOver = task
        defer { takingOver = nil }
        return try await task.value
    }

    private func takenOver(_ sources: [LegacyTokens]) async throws -> User? {
        guard await restore() != .locked else { throw unreadable }
        try await storing { try await removeTakenOver(from: sources) }
        for source in sources where isUnused {
            guard let token = try await storing({ try await source.read() }), !token.token.text.isEmpty else {
                continue
            }
            return isUnused ? try await takenOver(token, sources) : nil
        }
        return nil
    }

    /// Whether nobody has ever signed in: also a sign-out leaves something in the store.
    private var isUnused: Bool { session == nil && stored == nil }

    private func takenOver(_ token: LegacyToken, _ sources: [LegacyTokens]) async throws -> User? {
        // The same at the next launch, which shows the token again if this one ends before it has stored anything.
        let id = token.deviceID ?? configuration.device.id ?? SHA256.hexadecimal("device\n" + token.token.text)
        item = StoredItem(deviceID: id)
        let old = StoredSession(
            kind: token.isSession ? .apple : .cognito, accessToken: token.token, user: User(fields: .object([:])))
        var members: [String: JSONValue] = [:]
        members["client_id"] = token.clientID.map { .string($0) }
        members["device_key"] = token.deviceKey.map { .string($0) }
        var new = try await requestTokens(old, adding: members, repeats: 1)
        guard isUnused else { return nil }  // somebody has signed in meanwhile
        // Until the gateway has said more about the user.
        if new.user == old.user, let id = TokenTimes(of: new.accessToken)?.sub {
            new.user = User(fields: .object(["id": .string(id)]))
        }
        // In memory first: the token is used up by now.
        endOfToken = (new.accessToken, clock.uptime + new.lifetime)
        use(new)
        report(.signedIn(new.user))
        item?.takenOver = token.token
        try await storing {
            let storing = try await self.persist(new, inPlaceOf: token.token)
            guard self.session?.generation == new.generation else { return }
            if case .replaced(let found) = storing { return self.take(found, or: .elsewhere) }
            let found = Self.decoded(try await self.store.read())
            guard found?.session?.generation == new.generation else {
                throw StoreFailure.failed("the session could not be read back")
            }
            try await self.removeTakenOver(from: sources)
        }
        guard let session, session.generation == new.generation else { return nil }
        // Without ``presence``: nobody has asked to use the session.
        let me: JSONValue = try await send(
            AccountCall(path: "me", method: .get, kind: new.kind, bearer: session.accessToken, repeats: 1))
        return self.session?.generation == new.generation ? try await took(me) : nil
    }

    /// Removes the token that the stored session was exchanged for.
    private func removeTakenOver(from sources: [LegacyTokens]) async throws {
        guard let token = Self.decoded(stored)?.takenOver else { return }
        for source in sources where try await source.read()?.token == token { try await source.remove() }
        item?.takenOver = nil  // in the store with the next session
    }

    private func storing<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch StoreFailure.locked {
            throw GatehouseError.deviceLocked
        } catch {
            throw GatehouseError.storage(Self.reason(error))
        }
    }
}
