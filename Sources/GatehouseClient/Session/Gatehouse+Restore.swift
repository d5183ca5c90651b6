import Foundation

extension Gatehouse {
    /// Reads the stored session, without the network: a stored session is signed in, also offline. Call it at launch;
    /// every use of the session does so too. While nobody is signed in, each call reads what another process has stored.
    @discardableResult
    public func restore() async -> SessionState {
        if case .signedIn = state { return state }
        let task = restoring ?? Task { await read() }
        restoring = task
        await task.value
        if restoring == task { restoring = nil }
        return state
    }

    private func read() async {
        let before = (stored: stored, over: over, state: state)
        do {
            let found = try await store.read()
            let kept = Self.decoded(found)?.session
            let noted = kept == nil ? [] : try await notedSignOuts()
            // Somebody may have signed in meanwhile, and be signed out again.
            guard session == nil, stored == before.stored, over == before.over else { return }
            over.formUnion(noted)
            take(found, or: kept == nil ? .notSignedIn : .requested)
            if let session, case .signedOut = before.state { report(.signedIn(session.user)) }
            try await removeEnded()
            storeFailure = nil
        } catch {
            // The store may work later: nobody is signed out for it, and nothing is deleted.
            let failure = error as? StoreFailure ?? .failed(Self.reason(error))
            if case .failed(let reason) = failure, failure != storeFailure { report(.notStored(reason)) }
            storeFailure = failure
            if case .restoring = state { become(.locked) }
        }
    }

    /// Takes over what the store has, at launch or after another process has written it.
    ///
    /// - Parameter reason: why nobody is signed in, if nobody is. An earlier reason stays.
    func take(_ found: Data?, or reason: SignOutReason) {
        let decoded = Self.decoded(found)
        item?.session = nil
        (stored, item) = (found, decoded ?? item)
        session = decoded?.session.flatMap { over.contains($0.generation) ? nil : $0 }
        if let session {
            retry = RetryGate()
            return become(.signedIn(session.user, isFresh: remaining(session) > 0))
        }
        if case .signedOut = state { return }
        become(.signedOut(found != nil && decoded == nil ? .unreadable : reason))
    }

    /// Seconds that an access token is good for; negative if it has ended.
    ///
    /// Within a process the uptime counts, which nobody sets. Across launches it is the wall clock, corrected by the
    /// gateway's, and no token is good for longer than when it was made.
    func remaining(_ session: StoredSession) -> TimeInterval {
        if let endOfToken, endOfToken.token == session.accessToken { return endOfToken.uptime - clock.uptime }
        let left = session.expiresAt.timeIntervalSince(gatewayNow)
        return min(left, session.expiresAt.timeIntervalSince(session.receivedAt))
    }

    static func reason(_ error: any Error) -> String {
        switch error {
        case StoreFailure.locked: "the device is locked"
        case StoreFailure.failed(let reason): reason
        default: "\(type(of: error))"
        }
    }

    /// - Throws: ``GatehouseError/signedOut(_:)``, and ``unreadable``.
    func currentSession() async throws -> StoredSession {
        await restore()
        if let session { return session }
        if case .signedOut(let reason) = state { throw GatehouseError.signedOut(reason) }
        throw unreadable
    }

    /// Why the store could not be read.
    var unreadable: GatehouseError {
        if case .failed(let reason)? = storeFailure { return .storage(reason) }
        return .deviceLocked
    }

    /// The device as account calls describe it. Its identifier is made at the first use and stored with the next
    /// session.
    func device() async -> DeviceInfo {
        await restore()
        var device = configuration.device
        let id = device.id ?? item?.deviceID ?? UUID().uuidString.lowercased()
        device.id = id
        item = item ?? StoredItem(deviceID: id)
        return device
    }
}
