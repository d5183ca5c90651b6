import Foundation

extension Gatehouse {
    /// Refreshes the tokens now, however long they are still good for, and without the pause after a failure.
    ///
    /// - Throws: ``GatehouseError``.
    public func refresh() async throws {
        let session = try await currentSession()
        _ = try await refreshed(session)
    }

    /// A session whose access token is good, refreshed if it ends soon.
    ///
    /// - Parameter refused: a token that the gateway does not take any more.
    func validSession(refusing refused: Secret? = nil) async throws -> StoredSession {
        await storeUnstored()
        let session = try await currentSession()
        let remaining = session.accessToken == refused ? 0 : remaining(session)
        if remaining > lead(session) { return session }
        if let error = retry.closed(at: clock.uptime) {
            if remaining > 0 { return session }
            if let newer = try await overtaking(session), self.remaining(newer) > 0 { return newer }
            throw error
        }
        do {
            return try await refreshed(session)
        } catch let error as GatehouseError where remaining > 0 {
            if case .signedOut = error { throw error }
            // Good until its end: a later use tries again.
            return session
        }
    }

    /// The session with another access token than the one that the gateway has refused; nil if there is none.
    ///
    /// - Throws: ``GatehouseError/signedOut(_:)`` also if somebody else is signed in by now: nothing is sent as another.
    func renewed(_ session: StoredSession) async throws -> StoredSession? {
        let newer = try await validSession(refusing: session.accessToken)
        guard newer.generation == session.generation else { throw GatehouseError.signedOut(.elsewhere) }
        return newer.accessToken == session.accessToken ? nil : newer
    }

    private func lead(_ session: StoredSession) -> TimeInterval {
        guard session.kind == .apple else { return configuration.refreshLead }
        return min(configuration.sessionRefreshLead, session.lifetime / 2)
    }

    /// Refreshes a session; all who ask meanwhile share one request. It goes on if its callers are cancelled.
    private func refreshed(_ session: StoredSession) async throws -> StoredSession {
        if let flight, flight.generation == session.generation { return try await flight.task.value }
        let task = Task { try await exchanged(session) }
        flight = (session.generation, task)
        defer { if flight?.task == task { flight = nil } }
        return try await task.value
    }

    private func exchanged(_ session: StoredSession) async throws -> StoredSession {
        await storeUnstored()
        try checkGeneration(session)
        var session = self.session ?? session
        // Another process may have refreshed since. Until the gateway's time is known, its token is tried: if a third
        // process is just showing the token before it, a second refresh would make that reuse, which ends the session.
        if let newer = try await overtaking(session) {
            if clockOffset == nil, newer.renewal != session.renewal, remaining(newer) <= lead(newer) {
                endOfToken = (newer.accessToken, clock.uptime + lead(newer) + configuration.refreshLead)
            }
            if remaining(newer) > configuration.refreshLead { return newer }
            session = newer
        }
        // A few turns: each begins with the newest token in the store. The gateway takes one before it for stolen.
        var repeats = 1
        for _ in 0..<4 {
            let refusal: GatewayError?
            do {
                return try await adopt(requestTokens(session), after: session)
            } catch GatehouseError.network where repeats > 0 {
                (repeats, refusal) = (repeats - 1, nil)
                try await clock.pause(seconds: 1)
            } catch GatehouseError.wrongCredentials(let found) {
                refusal = found
            } catch let error as GatehouseError {
                throw failed(error, session)
            }
            if let newer = try await overtaking(session) {
                if remaining(newer) > 0 { return newer }
                session = newer
            } else if let refusal {
                throw await ended(session, .ended(refusal))
            }
        }
        throw failed(.unexpectedResponse(status: 401), session)
    }

    /// The session in the store, if another process has refreshed it; it is in use from then on. Nil if the store has
    /// this one, or one before it.
    ///
    /// - Throws: ``GatehouseError/signedOut(_:)`` if another process has signed out, or signed somebody in, and
    ///   ``GatehouseError/storage(_:)`` if the store cannot be read.
    private func overtaking(_ session: StoredSession) async throws -> StoredSession? {
        // The store then has another sign-in's session.
        if isUnstoredSignIn { return nil }
        let found: Data?
        do {
            found = try await store.read()
            over.formUnion(try await notedSignOuts())
        } catch StoreFailure.locked {
            throw GatehouseError.deviceLocked
        } catch {
            report(.notStored(Self.reason(error)))
            // Another process may have stored a later token, and this one would be taken for stolen.
            if unstored?.generation == session.generation { return nil }
            throw GatehouseError.storage(Self.reason(error))
        }
        try checkGeneration(session)
        if over.contains(session.generation) { throw await replacedElsewhere(found) }
        if found == stored { return nil }
        let decoded = Self.decoded(found)
        guard var other = decoded?.session, other.generation == session.generation else {
            throw await replacedElsewhere(found)
        }
        mergeUser(&other)
        (stored, item) = (found, decoded)
        guard other.renewal != session.renewal || other.accessToken != session.accessToken else { return nil }
        use(other)
        return other
    }

    private func adopt(_ new: StoredSession, after session: StoredSession) async throws -> StoredSession {
        try checkGeneration(session)
        retry.succeeded()
        endOfToken = (new.accessToken, clock.uptime + new.lifetime)
        var new = new
        // The user may have been changed while the gateway was asked.
        if new.user == session.user, let user = self.session?.user { new.user = user }
        // In memory first: if the store fails, or the app ends now, the session goes on all the same.
        use(new)
        do {
            let storing = try await persist(new, inPlaceOf: session.renewal)
            try checkGeneration(session)
            switch storing {
            case .stored: break
            case .overtaken(let other):
                use(other)
                return other
            case .replaced(let found): throw await replacedElsewhere(found)
            }
        } catch let failure as StoreFailure {
            report(.notStored(Self.reason(failure)))
        }
        report(.refreshed)
        return new
    }

    func use(_ new: StoredSession) {
        session = new
        become(.signedIn(new.user, isFresh: true))
    }

    /// - Throws: ``GatehouseError/signedOut(_:)`` if the session in use is of another sign-in by now.
    func checkGeneration(_ session: StoredSession) throws {
        guard self.session?.generation == session.generation else {
            if case .signedOut(let reason) = state { throw GatehouseError.signedOut(reason) }
            throw GatehouseError.signedOut(.elsewhere)
        }
    }

    func replacedElsewhere(_ found: Data?) async -> GatehouseError {
        take(found, or: .elsewhere)
        if let session { report(.signedIn(session.user)) }
        if session == nil, case .signedOut(let reason) = state { report(.signedOut(reason)) }
        return .signedOut(.elsewhere)
    }

    private func failed(_ error: GatehouseError, _ session: StoredSession) -> GatehouseError {
        // The next user's refreshes do not wait for the last one's.
        guard self.session?.generation == session.generation else { return error }
        if error != .deviceLocked {
            let jitter = Double(random(1).first ?? 0) / 255
            retry.failed(error, retryAfter: error.gatewayError?.retryAfter, uptime: clock.uptime, jitter: jitter)
        }
        if let current = self.session, remaining(current) <= 0 { become(.signedIn(current.user, isFresh: false)) }
        return error
    }

    func requestTokens(
        _ session: StoredSession, adding members: [String: JSONValue] = [:], repeats: Int = 0
    ) async throws -> StoredSession {
        var new = session
        // Of a session with a device, a lost response comes again to that device alone.
        let device = ["device_info": await device().json]
        var call = AccountCall(path: "refresh", kind: session.kind, body: device, repeats: repeats)
        switch session.kind {
        case .cognito:
            call.body?.merge(members) { $1 }
            call.body?["refresh_token"] = .string(session.renewal.text)
            new.accept(try await send(call) as TokensResponse, now: gatewayNow)
        case .apple:
            call.bearer = session.accessToken
            new.accept(try await send(call) as SessionResponse, now: gatewayNow)
        }
        return new
    }

    /// The gateway's clock.
    var gatewayNow: Date { clock.now.addingTimeInterval(clockOffset ?? 0) }
}

extension StoredSession {
    var lifetime: TimeInterval { expiresAt.timeIntervalSince(receivedAt) }

    mutating func accept(_ tokens: TokensResponse, now: Date) {
        accessToken = tokens.accessToken
        refreshToken = tokens.refreshToken
        idToken = tokens.idToken ?? idToken
        receivedAt = now
        expiresAt = now.addingTimeInterval(tokens.expiresIn)
        user = tokens.user ?? user
    }

    mutating func accept(_ response: SessionResponse, now: Date) {
        accessToken = response.token
        receivedAt = now
        // Unless the token says its end, it is tried for a day.
        expiresAt =
            TokenTimes(of: response.token).map { Date(timeIntervalSince1970: $0.exp) }
            ?? now.addingTimeInterval(2 * 24 * 3600)
        user = response.user ?? user
    }
}
