internal import FoundationEssentials
internal import Pipeline
internal import Store

/// The gateway's database in the state directory.
enum GatewayStore {
    /// - Throws: ``WiringFault``
    static func open(in stateDirectory: String) throws(WiringFault) -> Store {
        let path = "\(stateDirectory)/gatehouse.sqlite"
        do {
            return try Store(path: path, migrations: StoredRevocations.migrations, outlasts: .powerLoss)
        } catch {
            throw WiringFault(description: "\(path): cannot be opened: \(error)")
        }
    }

    /// What is revoked, read without changing anything; nothing where no gateway has kept anything yet.
    ///
    /// - Throws: ``WiringFault``
    static func revocations(in stateDirectory: String, now: Int64) async throws(WiringFault) -> RevocationList {
        let path = "\(stateDirectory)/gatehouse.sqlite"
        guard FileManager.default.fileExists(atPath: path) else { return .empty }
        do {
            let records = try await StoredRevocations(try Store(reading: path)).all(now: now)
            return RevocationList.empty.adding(records.compactMap(Revocation.init))
        } catch {
            throw WiringFault(description: "\(path): revocations cannot be read: \(error)")
        }
    }
}

extension GatewayStore {
    /// The sessions, in a database of their own: they change with each refresh and need not wait for the disk. What a
    /// loss of power takes is who has used which refresh token last; Cognito still knows whose sessions have ended.
    ///
    /// - Throws: ``WiringFault``
    static func sessions(in stateDirectory: String) throws(WiringFault) -> StoredSessions {
        let path = "\(stateDirectory)/sessions.sqlite"
        do {
            return try StoredSessions(
                Store(path: path, migrations: StoredSessions.migrations, outlasts: .process), isStart: true)
        } catch {
            throw WiringFault(description: "\(path): cannot be opened: \(error)")
        }
    }
}

extension GatewayStore {
    /// Users and their sessions. They outlast the process; what a loss of power takes of them is the last moments, and
    /// not what was revoked in these.
    ///
    /// - Parameter isStart: whether the process begins to serve with it.
    /// - Throws: ``WiringFault``
    static func users(in stateDirectory: String, isStart: Bool) throws(WiringFault) -> StoredUsers {
        let path = "\(stateDirectory)/users.sqlite"
        do {
            return try StoredUsers(
                Store(path: path, migrations: StoredUsers.migrations, outlasts: .process), isStart: isStart)
        } catch {
            throw WiringFault(description: "\(path): cannot be opened: \(error)")
        }
    }
}

extension GatewayStore {
    /// What was counted of account calls, and messages that wait: it outlasts the process, and is written with each
    /// sign-in, which need not wait for the disk.
    ///
    /// - Throws: ``WiringFault``
    static func conduct(in stateDirectory: String) throws(WiringFault) -> Store {
        let path = "\(stateDirectory)/conduct.sqlite"
        do {
            return try Store(path: path, migrations: StoredLimits.migrations + StoredOutbox.migrations)
        } catch {
            throw WiringFault(description: "\(path): cannot be opened: \(error)")
        }
    }
}

extension RevocationRecord {
    init(_ revocation: Revocation) {
        let (claim, value, before): (String, String, Int64?) =
            switch revocation.target {
            case .originID(let value): ("origin_jti", value, nil)
            case .tokenID(let value): ("jti", value, nil)
            case .session(let value): ("sid", value, nil)
            case .subject(let value, let before): ("sub", value, before)
            }
        self.init(issuer: revocation.issuer, claim: claim, value: value, before: before, endsAt: revocation.endsAt)
    }
}

extension Revocation {
    /// Nil for a claim that this version does not know.
    init?(_ record: RevocationRecord) {
        let target: Target
        switch record.claim {
        case "origin_jti": target = .originID(record.value)
        case "jti": target = .tokenID(record.value)
        case "sid": target = .session(record.value)
        case "sub": target = .subject(record.value, before: record.before ?? .max)
        default: return nil
        }
        self.init(issuer: record.issuer, target, endsAt: record.endsAt)
    }
}
