internal import Encoding
internal import FoundationEssentials
internal import GRDB

extension StoredUsers: UserSessionRecords {
    /// The maximum number of rows of each kind that one write tidies, so that no write takes long.
    private static let tidiedAtOnce = 8
    /// The maximum number of seconds between a refresh's time and its commit: it waits for other writes of its own
    /// process and then for those of others, 3 seconds each.
    private static let latestCommit: Int64 = 15

    package func signIn(_ signIn: UserSignIn) async throws -> UserSignInStep {
        do {
            return try await signInOnce(signIn)
        } catch let used as ProofUsed {
            return used.proof == .identityToken ? .replayed : .nonceReused
        }
    }

    /// - Throws: also ``ProofUsed``, which rolls everything back.
    private func signInOnce(_ signIn: UserSignIn) async throws -> UserSignInStep {
        try await store.write { [store] database in
            let pruning = store.pruningTime(signIn.session.createdAt)
            // From here on the identity token is used, whatever the result for the user.
            if let proof = signIn.proof { try Self.spend(proof, pruning: pruning, in: database) }
            let known = try Self.user(issuer: signIn.user.issuer, subject: signIn.user.subject, in: database)
            if let known {
                guard known.disabledAt == nil else { return .disabled(known) }
                guard known.mayTake(role: signIn.user.role) else { return .otherRole(known) }
            }
            let user = try known.map { try Self.brought(upToDate: $0, by: signIn.user, in: database) } ?? signIn.user
            if known == nil { try Self.insert(user, in: database) }
            try Self.tidy(database, pruning: pruning)
            var session = signIn.session
            session.userID = user.id
            try Self.insert(session, in: database)
            if let token = signIn.appleToken?(user.id) { try Self.keep(token, in: database) }
            return .signedIn(user, isNew: known == nil)
        }
    }

    package func session(_ id: String) async throws -> (session: UserSessionRecord, user: UserRecord)? {
        try await store.lookUp { database in
            guard let session = try Self.session(id, in: database),
                let user = try Self.user(session.userID, in: database)
            else { return nil }
            return (session, user)
        }
    }

    package func advance(to record: UserSessionRecord) async throws -> UserSessionStep {
        try await store.write { [store] database in
            let statement = try database.cachedStatement(
                sql: """
                    UPDATE user_sessions SET rotation = ?, successor = ?, retry_until = 0, refreshed_at = ?,
                        expires_at = ?, previous_expires_at = max(previous_expires_at, expires_at, ?), ends_at = ?
                    WHERE id = ? AND rotation < ? AND ended_at IS NULL
                        AND EXISTS (SELECT 1 FROM users WHERE id = user_id AND disabled_at IS NULL)
                    RETURNING rotation
                    """)
            let arguments: StatementArguments = [
                record.rotation, record.successor.map { Data($0) }, record.refreshedAt, record.expiresAt,
                record.previousExpiresAt, record.endsAt, record.id, record.rotation,
            ]
            let isTaken = try Int64.fetchOne(statement, arguments: arguments) != nil
            guard isTaken else { return .overtaken(try Self.session(record.id, in: database)) }
            try Self.tidy(database, pruning: store.pruningTime(record.refreshedAt))
            return .taken
        }
    }

    package func renew(_ known: UserSessionRecord, as record: UserSessionRecord) async throws -> UserSessionStep {
        try await store.write { database in
            let statement = try database.cachedStatement(
                sql: """
                    UPDATE user_sessions SET successor = ?, retry_until = 0, refreshed_at = ?, expires_at = ?, ends_at = ?
                    WHERE id = ? AND rotation = ? AND refreshed_at = ? AND ended_at IS NULL
                        AND EXISTS (SELECT 1 FROM users WHERE id = user_id AND disabled_at IS NULL)
                    RETURNING rotation
                    """)
            let arguments: StatementArguments = [
                record.successor.map { Data($0) }, record.refreshedAt, record.expiresAt, record.endsAt, known.id,
                known.rotation, known.refreshedAt,
            ]
            let isTaken = try Int64.fetchOne(statement, arguments: arguments) != nil
            return isTaken ? .taken : .overtaken(try Self.session(known.id, in: database))
        }
    }

    package func end(_ id: String, at now: Int64) async throws -> Bool {
        try await store.write { try !Self.end($0, "id = ?", id, at: now).isEmpty }
    }

    package func endAll(of userID: String, at now: Int64) async throws -> [UserSessionRecord] {
        try await store.write { try Self.end($0, "user_id = ?", userID, at: now) }
    }

    package func hasEnded(atLeast count: Int, of userID: String) async throws -> Bool {
        guard count > 0 else { return true }
        return try await store.read { database in
            try Bool.fetchOne(
                database,
                sql: """
                    SELECT TRUE FROM user_sessions WHERE user_id = ? AND ended_at IS NOT NULL LIMIT 1 OFFSET ?
                    """,
                arguments: [userID, count - 1]) ?? false
        }
    }

    package func sessions(of userID: String) async throws -> [UserSessionRecord] {
        try await store.read { database in
            try Row.fetchAll(
                database, sql: "SELECT * FROM user_sessions WHERE user_id = ? ORDER BY created_at, id",
                arguments: [userID]
            ).map(UserSessionRecord.init)
        }
    }

    /// Compares a number that changes with any write of another process, and then reads by the times of refreshes.
    /// Those within ``latestCommit`` before a position are returned again, since a late commit has such a time.
    package func superseded(
        since position: ChangePosition?, now: Int64, limit: Int
    ) async throws -> SupersededReading {
        // The number is read first: changes written in between are returned now and again by the next call.
        let changes = String(try await store.foreignChanges())
        let current = ChangePosition(origin: String(now), mark: changes)
        guard let position, let time = Int64(position.origin) else {
            let sessions = try await superseded(now: now, limit: limit)
            return SupersededReading(
                sessions: sessions.sorted { $0.refreshedAt < $1.refreshedAt }, position: current)
        }
        if position.mark.hasSameBytes(as: changes) { return SupersededReading(sessions: [], position: position) }
        // After the clock was set back, sessions refreshed elsewhere have earlier times than the known ones.
        let since = time <= now ? time - Self.latestCommit : now - RetryWindows.window
        return SupersededReading(sessions: try await refreshed(since: since, limit: limit), position: current)
    }

    /// Returns the longest-lived first.
    private func superseded(now: Int64, limit: Int) async throws -> [SupersededSession] {
        let expiry = store.pruningTime(now) - SupersededSession.grace
        return try await store.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT id, rotation, refreshed_at, previous_expires_at FROM user_sessions
                    WHERE rotation > 0 AND previous_expires_at > ? AND ended_at IS NULL
                    ORDER BY previous_expires_at DESC LIMIT ?
                    """,
                arguments: [expiry, limit]
            ).map(SupersededSession.init)
        }
    }

    private func refreshed(since time: Int64, limit: Int) async throws -> [SupersededSession] {
        try await store.read { database in
            try Row.fetchAll(
                database,
                // Sessions without a successor were refreshed longer ago.
                sql: """
                    SELECT id, rotation, refreshed_at, previous_expires_at FROM user_sessions
                    WHERE successor IS NOT NULL AND refreshed_at >= ? ORDER BY refreshed_at LIMIT ?
                    """,
                arguments: [time, limit]
            ).map(SupersededSession.init)
        }
    }

    package func removeEnded(now: Int64) async throws {
        let pruning = store.pruningTime(now)
        try await store.removeInSteps("user_sessions", where: "ends_at <= ?", [pruning])
        try await store.removeInSteps("spent", where: "ends_at <= ?", [pruning])
        try await store.clearInSteps(
            "successor", in: "user_sessions", where: RetryWindows.closedCondition,
            RetryWindows.closedArguments(store, now: now))
        // For earlier deletions whose checkpoint a reader prevented.
        try await store.emptyLog()
    }

    // MARK: Statements

    private static func brought(
        upToDate known: UserRecord, by user: UserRecord, in database: Database
    ) throws -> UserRecord {
        var updated = known
        if known.role == nil, let role = user.role {
            try setRole(role, of: known.id, in: database)
            updated.role = role
        }
        guard let address = user.email, user.emailAsOf >= known.emailAsOf else { return updated }
        let before = updated
        updated.email = address
        updated.emailVerified = user.emailVerified
        updated.isPrivateEmail = user.isPrivateEmail
        updated.emailAsOf = user.emailAsOf
        guard updated != before else { return before }
        let email = VouchedEmail(address: address, isVerified: user.emailVerified, isPrivate: user.isPrivateEmail)
        try setEmail(email, asOf: user.emailAsOf, of: known.id, in: database)
        return updated
    }

    private static func session(_ id: String, in database: Database) throws -> UserSessionRecord? {
        try Row.fetchOne(database.cachedStatement(sql: "SELECT * FROM user_sessions WHERE id = ?"), arguments: [id])
            .map(UserSessionRecord.init)
    }

    private static func insert(_ record: UserSessionRecord, in database: Database) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO user_sessions (id, user_id, rotation, successor, retry_until, auth_time, device_id,
                    platform, created_at, refreshed_at, expires_at, previous_expires_at, ends_at, ended_at, device_name,
                    device_model, os_version, app_version)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        let values: StatementArguments = [
            record.id, record.userID, record.rotation, record.successor.map { Data($0) }, record.retryUntil,
            record.authTime, record.deviceID, record.platform, record.createdAt, record.refreshedAt,
            record.expiresAt, record.previousExpiresAt, record.endsAt, record.endedAt,
        ]
        try statement.execute(arguments: values + record.device.values)
    }

    /// Ends sessions. The first statement decides which: no session is returned to two callers.
    ///
    /// The token is deleted; the row remains as a record of the session.
    private static func end(
        _ database: Database, _ condition: String, _ value: String, at now: Int64
    ) throws -> [UserSessionRecord] {
        let ended = try Row.fetchAll(
            database, sql: "UPDATE user_sessions SET ended_at = ? WHERE ended_at IS NULL AND \(condition) RETURNING *",
            arguments: [now, value]
        ).map(UserSessionRecord.init)
        let clearing = try database.cachedStatement(sql: "UPDATE user_sessions SET successor = NULL WHERE id = ?")
        for record in ended { try clearing.execute(arguments: [record.id]) }
        return ended.map { record in
            var record = record
            record.endedAt = nil
            return record
        }
    }

    /// Deletes sessions whose last token has expired, and tokens that may no longer be requested.
    private static func tidy(_ database: Database, pruning: Int64) throws {
        try database.cachedStatement(
            sql: "DELETE FROM user_sessions WHERE id IN (SELECT id FROM user_sessions WHERE ends_at <= ? LIMIT ?)"
        ).execute(arguments: [pruning, tidiedAtOnce])
        try database.cachedStatement(
            sql: """
                UPDATE user_sessions SET successor = NULL WHERE id IN (
                    SELECT id FROM user_sessions
                    WHERE successor IS NOT NULL AND refreshed_at < ? AND retry_until < ? LIMIT ?)
                """
        ).execute(arguments: [pruning - RetryWindows.window, pruning, tidiedAtOnce])
    }
}

extension SupersededSession {
    fileprivate init(_ row: Row) {
        self.init(
            id: row["id"], rotation: row["rotation"], refreshedAt: row["refreshed_at"],
            expiresAt: row["previous_expires_at"])
    }
}

extension UserSessionRecord {
    fileprivate init(_ row: Row) {
        let successor: Data? = row["successor"]
        self.init(
            id: row["id"], userID: row["user_id"], rotation: row["rotation"], successor: successor.map { [UInt8]($0) },
            retryUntil: row["retry_until"], authTime: row["auth_time"], deviceID: row["device_id"],
            platform: row["platform"], device: SessionDevice(row), createdAt: row["created_at"],
            refreshedAt: row["refreshed_at"],
            expiresAt: row["expires_at"], previousExpiresAt: row["previous_expires_at"], endsAt: row["ends_at"],
            endedAt: row["ended_at"])
    }
}
