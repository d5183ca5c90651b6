import Foundation

extension Gatehouse {
    /// Reads the stored session, without the network: a stored session is signed in, also offline. Call it at launch;
    /// every use of the session does so too.
    @discardableResult
    public func restore() async -> SessionState {
        switch state {
        case .signedIn, .signedOut: return state
        case .restoring, .locked: break
        }
        if let restoring {
            await restoring.value
            return state
        }
        let task = Task { await read() }
        restoring = task
        await task.value
        restoring = nil
        return state
    }

    private func read() async {
        do {
            let found = try await store.read()
            guard session == nil else { return }  // somebody signed in meanwhile
            take(found)
        } catch StoreFailure.locked {
            become(.locked)
        } catch {
            // The store may work later: nobody is signed out for it, and nothing is deleted.
            report(.notStored(Self.reason(error)))
            become(.locked)
        }
    }

    /// Takes over what the store has, at launch or after another process has written it.
    func take(_ found: Data?) {
        stored = found
        guard let found else {
            item = nil
            session = nil
            return become(.signedOut(.notSignedIn))
        }
        guard let decoded = try? JSONDecoder().decode(StoredItem.self, from: found) else {
            session = nil
            return become(.signedOut(.unreadable))
        }
        item = decoded
        session = decoded.session
        guard let session else { return become(.signedOut(.notSignedIn)) }
        become(.signedIn(session.user, isFresh: remaining(session) > 0))
    }

    /// Seconds that an access token is good for; negative if it has ended.
    ///
    /// Within a process the uptime counts, which nobody sets. Across launches it is the wall clock, corrected by the
    /// gateway's, and no token is good for longer than when it was made.
    func remaining(_ session: StoredSession) -> TimeInterval {
        if let endOfToken, endOfToken.token == session.accessToken { return endOfToken.uptime - clock.uptime }
        let left = session.expiresAt.timeIntervalSince(clock.now.addingTimeInterval(clockOffset))
        return min(left, session.expiresAt.timeIntervalSince(session.receivedAt))
    }

    static func reason(_ error: any Error) -> String {
        switch error {
        case StoreFailure.locked: "the device is locked"
        case StoreFailure.failed(let reason): reason
        default: "\(type(of: error))"
        }
    }

    /// The session in use.
    ///
    /// - Throws: ``GatehouseError/signedOut(_:)``, ``GatehouseError/deviceLocked``.
    func currentSession() async throws -> StoredSession {
        await restore()
        if let session { return session }
        if case .signedOut(let reason) = state { throw GatehouseError.signedOut(reason) }
        throw GatehouseError.deviceLocked
    }

    /// The device as account calls describe it. Its identifier is made at the first use and stored with the next
    /// session.
    func device() async -> DeviceInfo {
        await restore()
        var device = configuration.device
        if let id = device.id ?? item?.deviceID {
            device.id = id
        } else {
            let id = UUID().uuidString.lowercased()
            device.id = id
            item = StoredItem(deviceID: id)
        }
        return device
    }
}
