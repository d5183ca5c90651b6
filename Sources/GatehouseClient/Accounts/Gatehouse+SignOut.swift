extension Gatehouse {
    /// Signs the user out. This device is signed out at once, also offline, and the store is emptied before the gateway
    /// is asked. The gateway is asked also if the calling task is cancelled.
    ///
    /// - Parameter everywhere: whether all sessions of the user end.
    /// - Returns: whether the gateway has ended the session, or all of them. After any failure the session's tokens are
    ///   gone from here; the gateway may take them until they expire. A session that had ended before, or whose newest
    ///   token is another one, ends no others. While the stored session cannot be read, it stays.
    @discardableResult
    public func signOut(everywhere: Bool = false) async -> Bool {
        await restore()
        // Only the newest token ends others: another process may have stored it. A store that fails has none.
        let found = everywhere ? try? await store.read() : nil
        guard var session else { return state != .locked }
        if found != stored, let other = Self.decoded(found)?.session, other.generation == session.generation,
            other.expiresAt >= session.expiresAt
        {
            session = other
        }
        _ = await ended(session, .requested)
        var body: [String: JSONValue] = [:]
        if everywhere { body["all_devices"] = true }
        if let token = session.refreshToken { body["refresh_token"] = .string(token.text) }
        // Without a bearer the refresh token decides; an expired access token would be refused.
        let call = AccountCall(
            path: "logout", kind: session.kind, body: body,
            bearer: session.kind == .apple ? session.accessToken : nil, repeats: configuration.signInRetries)
        do {
            // Its own task: nothing here could send it later.
            try await Task { let _: Done = try await send(call) }.value
            return true
        } catch GatehouseError.wrongCredentials {
            return !everywhere  // ended before, and the others go on
        } catch {
            return false
        }
    }
}
