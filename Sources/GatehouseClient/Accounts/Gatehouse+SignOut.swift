extension Gatehouse {
    /// Signs the user out. This device is signed out at once, also offline, and the store is emptied before the gateway
    /// is asked.
    ///
    /// - Parameter everywhere: whether all sessions of the user end.
    /// - Returns: whether the gateway has ended the session. If it could not be reached, the session's tokens are gone
    ///   from here and live on there until they expire. While the stored session cannot be read, it stays.
    @discardableResult
    public func signOut(everywhere: Bool = false) async -> Bool {
        await restore()
        guard let session else { return state != .locked }
        _ = await ended(session, .requested)
        var body: [String: JSONValue] = [:]
        if everywhere { body["all_devices"] = true }
        if let token = session.refreshToken { body["refresh_token"] = .string(token.text) }
        // Without a bearer the refresh token decides; an expired access token would be refused.
        let call = AccountCall(
            path: "logout", family: session.kind.family, body: body,
            bearer: session.kind == .apple ? session.accessToken : nil, repeats: configuration.signInRetries)
        do {
            let _: Done = try await send(call)
            return true
        } catch GatehouseError.wrongCredentials {
            return true  // ended before
        } catch {
            return false
        }
    }
}
