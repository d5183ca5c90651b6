import Foundation

extension Gatehouse {
    /// Goes on with the session that an older version of the app left. Call it at launch, from the app and not from its
    /// extensions.
    ///
    /// The first token that a source has is exchanged at the gateway. The new session is stored and read back; then the
    /// token is removed from its source, and the user read. If a step fails, nothing is removed: call it again at the
    /// next launch. It has no effect once the store has anything: nobody's session replaces another's, and a sign-out
    /// stays one.
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
        guard await restore() != .locked else { throw GatehouseError.deviceLocked }
        for source in sources {
            guard isUnused else { return nil }
            guard let token = try await storing({ try await source.read() }) else { continue }
            guard isUnused else { return nil }
            return try await takenOver(token, source)
        }
        return nil
    }

    /// Whether nobody has ever signed in: also a sign-out leaves something in the store.
    private var isUnused: Bool { session == nil && stored == nil }

    private func takenOver(_ token: LegacyToken, _ source: LegacyTokens) async throws -> User? {
        if let id = token.deviceID { item = StoredItem(deviceID: id) }
        let (new, lifetime) = try await exchanged(token)
        guard isUnused else { return nil }  // somebody has signed in meanwhile
        // In memory first: the token is used up by now.
        endOfToken = (new.accessToken, clock.uptime + lifetime)
        use(new)
        report(.signedIn(new.user))
        let isStored = try await storing {
            switch try await self.store(new, inPlaceOf: token.token) {
            case .stored: break
            case .overtaken(let other): if self.session?.generation == new.generation { self.use(other) }
            case .replaced:
                if self.session?.generation == new.generation { self.take(self.stored) }
                return false
            }
            guard self.session?.generation == new.generation else { return false }
            let found = try await self.store.read()
            let item = try found.map { try JSONDecoder().decode(StoredItem.self, from: $0) }
            guard item?.session?.generation == new.generation else {
                throw StoreFailure.failed("the session could not be read back")
            }
            try await source.remove()
            return true
        }
        guard isStored, session?.generation == new.generation else { return nil }
        let family = new.kind == .apple ? AccountCall.Family.session : .account
        let me: JSONValue = try await send(AccountCall(.get, "me", of: family, bearer: new.accessToken, repeats: 1))
        guard session?.generation == new.generation else { return nil }
        return try await took(me)
    }

    private func exchanged(_ token: LegacyToken) async throws -> (StoredSession, lifetime: TimeInterval) {
        var new = StoredSession(
            generation: token.generation, kind: token.isSession ? .apple : .cognito, accessToken: token.token,
            receivedAt: gatewayNow, expiresAt: gatewayNow, user: User(fields: .object([:])))
        if token.isSession {
            let call = AccountCall(
                .post, "refresh", of: .session, bearer: token.token, repeats: configuration.signInRetries)
            let response: SessionResponse = try await send(call)
            new.accept(response, now: gatewayNow)
        } else {
            var body: [String: JSONValue] = ["refresh_token": .string(token.token.text)]
            body["client_id"] = token.clientID.map { .string($0) }
            body["device_key"] = token.deviceKey.map { .string($0) }
            body["device_info"] = await device().json
            let tokens: TokensResponse = try await send(
                AccountCall(.post, "refresh", body: body, repeats: configuration.signInRetries))
            new.accept(tokens, now: gatewayNow)
        }
        // Until the gateway has said more about the user.
        if case .object([:]) = new.user.fields, let id = TokenTimes(of: new.accessToken)?.sub {
            new.user = User(fields: .object(["id": .string(id)]))
        }
        return (new, new.lifetime)
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

extension LegacyToken {
    /// The same in each process that takes this token over, so that they share one session.
    fileprivate var generation: UUID {
        let h = SHA256.hash(Array(token.text.utf8))
        return UUID(
            uuid: (
                h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], h[10], h[11], h[12], h[13], h[14], h[15]
            ))
    }
}
