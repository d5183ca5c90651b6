public struct UserSession: Sendable, Hashable, Decodable {
    public let id: String
    /// Whether it is this device's.
    public let isCurrent: Bool
    public let deviceName: String?
    public let model: String?
    public let platform: String?
    public let appVersion: String?
    /// In the form of RFC 3339, as ``lastUsedAt``.
    public let signedInAt: String
    public let lastUsedAt: String

    private enum CodingKeys: String, CodingKey {
        case id, model, platform
        case isCurrent = "current"
        case deviceName = "device_name"
        case appVersion = "app_version"
        case signedInAt = "signed_in_at"
        case lastUsedAt = "last_used_at"
    }
}

extension Gatehouse {
    public func sessions() async throws -> [UserSession] {
        struct Response: Decodable { var sessions: [UserSession] }
        return try await (authorized(.get, "me/sessions") as Response).sessions
    }

    /// Ends one of the user's sessions. Ending this device's own signs out.
    public func endSession(_ session: UserSession) async throws {
        let _: Done = try await authorized(.delete, "me/sessions/\(session.id.pathSegment)")
        if session.isCurrent, let own = self.session { _ = await ended(own, .requested) }
    }

    /// Ends all sessions of the user but this device's.
    public func endOtherSessions() async throws { let _: Done = try await authorized(.delete, "me/sessions") }
}
