package import Accounts
package import Encoding
internal import Store

/// An operator's view of users, and operations on them.
package struct UserAdministration: Sendable {
    /// The reason for a failure, as text.
    package struct Failure: Error, CustomStringConvertible, Equatable {
        package let description: String
        /// Whether there is no such user; otherwise the request is not possible.
        package let isUnknownUser: Bool

        package init(_ description: String, isUnknownUser: Bool = false) {
            self.description = description
            self.isUnknownUser = isUnknownUser
        }
    }

    private let sessions: UserSessions
    /// The configured roles; empty if there are none.
    private let roles: Set<String>

    package init(_ sessions: UserSessions, roles: Set<String>) {
        self.sessions = sessions
        self.roles = roles
    }

    /// Returns users sorted by id, after `after`.
    ///
    /// - Parameter text: an id or an Apple subject, or the beginning of an e-mail address or a name; nil for all users.
    package func users(matching text: String?, after: String = "", limit: Int) async throws -> [JSONObject] {
        try await sessions.users.users(matching: text, after: after, limit: limit).map(\.exported)
    }

    /// - Throws: ``Failure`` if there is no such user.
    package func user(_ id: String) async throws -> JSONObject {
        var object = try await known(id).exported
        let stored = try await sessions.records.sessions(of: id)
        object["sessions"] = .number(JSONNumber(stored.count { isOpen($0) }))
        return object
    }

    /// Returns the active sessions.
    ///
    /// - Throws: ``Failure`` if there is no such user.
    package func sessions(of id: String) async throws -> [JSONObject] {
        _ = try await known(id)
        return try await openSessions(of: id)
    }

    /// As ``sessions(of:)``; empty for an unknown user.
    package func openSessions(of id: String) async throws -> [JSONObject] {
        try await sessions.records.sessions(of: id).filter(isOpen).map { session in
            var object = session.exported
            object["subject"] = .string(session.userID)
            return object
        }
    }

    /// Sets a user's role. Their sessions end, since their tokens contain the previous role.
    ///
    /// - Parameter role: nil removes it.
    /// - Returns: the number of sessions ended.
    /// - Throws: ``Failure`` if the role is not configured or there is no such user.
    package func setRole(_ role: String?, of id: String, requestID: String) async throws -> Int {
        if let role, !role.isOne(of: roles) {
            let known = roles.isEmpty ? "none is configured" : "known: \(roles.sorted().joined(separator: ", "))"
            throw Failure("there is no role \"\(role)\" (\(known))")
        }
        guard try await sessions.users.setRole(role, of: id) != nil else { throw Self.unknown }
        return try await sessions.endAll(of: id, requestID: requestID)
    }

    /// Disables a user and ends their sessions, or enables the user again.
    ///
    /// - Returns: the number of sessions ended.
    /// - Throws: ``Failure`` if there is no such user.
    package func setDisabled(_ isDisabled: Bool, of id: String, requestID: String) async throws -> Int {
        let time = isDisabled ? sessions.now() : nil
        guard try await sessions.users.setDisabled(at: time, of: id) != nil else { throw Self.unknown }
        return isDisabled ? try await sessions.endAll(of: id, requestID: requestID) : 0
    }

    /// - Returns: the number of sessions ended.
    /// - Throws: ``Failure`` if there is no such user.
    package func endSessions(of id: String, requestID: String) async throws -> Int {
        _ = try await known(id)
        return try await sessions.endAll(of: id, requestID: requestID)
    }

    /// As ``endSessions(of:requestID:)``; ends none for an unknown user.
    package func endSessionsIfKnown(of id: String, requestID: String) async throws -> EndedSessions {
        guard try await sessions.users.user(id) != nil else { return EndedSessions() }
        return EndedSessions(count: try await sessions.endAll(of: id, requestID: requestID))
    }

    /// Nil if there is no active session with this id.
    package func user(ofSession id: String) async throws -> String? {
        guard let stored = try await sessions.records.session(id)?.session, isOpen(stored) else { return nil }
        return stored.userID
    }

    /// Ends one session.
    ///
    /// - Returns: nil if there is no active session with this id.
    package func endSession(_ id: String, requestID: String) async throws -> EndedSessions? {
        guard try await user(ofSession: id) != nil else { return nil }
        try await sessions.end(id, requestID: requestID)
        return EndedSessions(count: 1)
    }

    private func known(_ id: String) async throws -> UserRecord {
        guard let user = try await sessions.users.user(id) else { throw Self.unknown }
        return user
    }

    private func isOpen(_ session: UserSessionRecord) -> Bool {
        session.endedAt == nil && session.endsAt > sessions.now()
    }

    private static let unknown = Failure("there is no user of this id", isUnknownUser: true)
}
