package import Accounts
package import Encoding
internal import Store

/// An operator's view of users, and operations on them.
package struct UserAdministration: Sendable {
    /// Why something was not done, in words.
    package struct Failure: Error, CustomStringConvertible, Equatable {
        package let description: String
        /// Whether there is no such user; else what was asked for cannot be.
        package let isUnknownUser: Bool

        package init(_ description: String, isUnknownUser: Bool = false) {
            self.description = description
            self.isUnknownUser = isUnknownUser
        }
    }

    private let sessions: UserSessions
    /// The roles that users can have; empty where they have none.
    private let roles: Set<String>

    package init(_ sessions: UserSessions, roles: Set<String>) {
        self.sessions = sessions
        self.roles = roles
    }

    /// Users by id, from behind `after` on.
    ///
    /// - Parameter text: whose id or Apple's subject it is, or what the e-mail address or name begins with; nil for
    ///   all.
    package func users(matching text: String?, after: String = "", limit: Int) async throws -> [JSONObject] {
        try await sessions.users.users(matching: text, after: after, limit: limit).map(\.exported)
    }

    /// - Throws: ``Failure`` where there is no such user.
    package func user(_ id: String) async throws -> JSONObject {
        var object = try await known(id).exported
        let stored = try await sessions.records.sessions(of: id)
        object["sessions"] = .number(JSONNumber(stored.count { isOpen($0) }))
        return object
    }

    /// Those that go on.
    ///
    /// - Throws: ``Failure`` where there is no such user.
    package func sessions(of id: String) async throws -> [JSONObject] {
        _ = try await known(id)
        return try await openSessions(of: id)
    }

    /// As ``sessions(of:)``; none of somebody who is not known.
    package func openSessions(of id: String) async throws -> [JSONObject] {
        try await sessions.records.sessions(of: id).filter(isOpen).map { session in
            var object = session.exported
            object["subject"] = .string(session.userID)
            return object
        }
    }

    /// Gives a user another role. Their sessions end, since their tokens say the role that they had.
    ///
    /// - Parameter role: nil takes it away.
    /// - Returns: how many sessions ended.
    /// - Throws: ``Failure`` for a role that is not configured, and where there is no such user.
    package func setRole(_ role: String?, of id: String, requestID: String) async throws -> Int {
        if let role, !role.isOne(of: roles) {
            let known = roles.isEmpty ? "none is configured" : "known: \(roles.sorted().joined(separator: ", "))"
            throw Failure("there is no role \"\(role)\" (\(known))")
        }
        guard try await sessions.users.setRole(role, of: id) != nil else { throw Self.unknown }
        return try await sessions.endAll(of: id, requestID: requestID)
    }

    /// Locks a user out, whose sessions end, or lets them in again.
    ///
    /// - Returns: how many sessions ended.
    /// - Throws: ``Failure`` where there is no such user.
    package func setDisabled(_ isDisabled: Bool, of id: String, requestID: String) async throws -> Int {
        let time = isDisabled ? sessions.now() : nil
        guard try await sessions.users.setDisabled(at: time, of: id) != nil else { throw Self.unknown }
        return isDisabled ? try await sessions.endAll(of: id, requestID: requestID) : 0
    }

    /// - Returns: how many there were.
    /// - Throws: ``Failure`` where there is no such user.
    package func endSessions(of id: String, requestID: String) async throws -> Int {
        _ = try await known(id)
        return try await sessions.endAll(of: id, requestID: requestID)
    }

    /// As ``endSessions(of:requestID:)``; none of somebody who is not known.
    package func endSessionsIfKnown(of id: String, requestID: String) async throws -> EndedSessions {
        guard try await sessions.users.user(id) != nil else { return EndedSessions() }
        return EndedSessions(count: try await sessions.endAll(of: id, requestID: requestID))
    }

    /// Nil where no session of this id goes on.
    package func user(ofSession id: String) async throws -> String? {
        guard let stored = try await sessions.records.session(id)?.session, isOpen(stored) else { return nil }
        return stored.userID
    }

    /// Ends one session.
    ///
    /// - Returns: nil where no session of this id goes on.
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
