internal import Accounts
internal import Clocks
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Keys
internal import Logging
internal import Pipeline
internal import Sessions
internal import Store
internal import Telemetry

/// Performs the admin listener's calls about users and sessions. Changes apply from the next request on, and are
/// recorded in the audit log.
struct AdminUsers: Sendable {
    private let directory: UserDirectory?
    private let logger: Logger
    private let caller: AdminCaller
    private let requestID = AdminRequestID.make()
    private let confirm: @Sendable (Duration) async throws -> Confirmations

    /// - Parameters:
    ///   - directory: the users and sessions; nil if no tokens are accepted.
    ///   - confirm: waits until all gateways apply the change, for at most the given time.
    init(
        _ directory: UserDirectory?, _ logger: Logger, _ caller: AdminCaller,
        confirm: @escaping @Sendable (Duration) async throws -> Confirmations
    ) {
        self.confirm = confirm
        self.directory = directory
        self.logger = logger
        self.caller = caller
    }

    func perform(_ call: AdminUserCall, body: [UInt8]) async -> AdminAnswer {
        do {
            guard let directory else { throw Self.missing("This gateway takes no tokens, and keeps no users.") }
            return AdminAnswer(
                status: .ok, body: .object(try await carryOut(call, directory, body)), requestID: requestID)
        } catch {
            return AdminAnswer(refusal(of: error), requestID: requestID)
        }
    }

    private func carryOut(_ call: AdminUserCall, _ directory: UserDirectory, _ body: [UInt8]) async throws -> JSONObject
    {
        switch call {
        case .find(let text, let after, let limit):
            let users = try await own(directory).users(matching: text, after: after, limit: limit)
            let last = users.count == limit ? users.last?["id"] : nil
            return ["users": .array(users.map(JSON.object)), "next": last ?? .null]
        case .show(let id): return try await own(directory).user(id)
        case .setRole(let id, let wait):
            return try await confirmed(wait) { try await setRole(try Self.role(body), of: id, directory) }
        case .setDisabled(let isDisabled, let id, let wait):
            return try await confirmed(wait) { try await setDisabled(isDisabled, id, directory) }
        case .sessions(let subject, let issuer):
            return ["sessions": .array(try await sessions(of: subject, issuer, directory).map(JSON.object))]
        case .endSession(let id, let wait): return try await confirmed(wait) { try await endSession(id, directory) }
        case .endSessions(let subject, let issuer, let wait):
            return try await confirmed(wait) { try await endSessions(of: subject, issuer, directory) }
        case .malformed(let message): throw Self.malformed(message)
        }
    }

    /// Performs a change. If the caller waits for confirmation, the result has the number of gateways that apply the
    /// change. A failed confirmation is no error, because the change has been made.
    private func confirmed(
        _ wait: AdminUserCall.Wait, _ change: () async throws -> JSONObject
    ) async throws -> JSONObject {
        var result = try await change()
        guard let wait else { return result }
        do {
            result["confirmed"] = .string("\(try await confirm(.seconds(wait)))")
        } catch {
            logger.warning(
                "nobody knows on how many gateways a change holds",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
            result["confirmed"] = .null
        }
        return result
    }

    // MARK: Users

    private func own(_ directory: UserDirectory) throws(Refusal) -> UserAdministration {
        guard let own = directory.own else {
            throw Self.missing("This gateway keeps no users: there is no sign_in.apple.session.")
        }
        return own
    }

    private static func role(_ body: [UInt8]) throws(Refusal) -> String? {
        let role = (try? JSON.parse(body))?.objectValue?["role"]
        if role == .null { return nil }
        guard let role = role?.stringValue else { throw malformed("send {\"role\": …} with a role or null") }
        return role
    }

    private func setRole(_ role: String?, of id: String, _ directory: UserDirectory) async throws -> JSONObject {
        let own = try own(directory)
        let ended = try await reporting(
            .roleChanged, "admin-set-role", id, directory, change: "role \(role ?? "none")"
        ) {
            try await own.setRole(role, of: id, requestID: requestID)
        }
        return ["user": .string(id), "role": role.map(JSON.string) ?? .null, "sessions_ended": Self.number(ended)]
    }

    private func setDisabled(_ isDisabled: Bool, _ id: String, _ directory: UserDirectory) async throws -> JSONObject {
        let own = try own(directory)
        let operation = isDisabled ? "admin-disable-user" : "admin-enable-user"
        let ended = try await reporting(isDisabled ? .userDisabled : .userEnabled, operation, id, directory) {
            try await own.setDisabled(isDisabled, of: id, requestID: requestID)
        }
        return ["user": .string(id), "disabled": .bool(isDisabled), "sessions_ended": Self.number(ended)]
    }

    // MARK: Sessions

    /// Returns the open sessions of a subject, each with its issuer's name.
    private func sessions(of subject: String, _ issuer: String?, _ directory: UserDirectory) async throws
        -> [JSONObject]
    {
        guard directory.knows(issuer: issuer) else { throw Self.malformed("there is no issuer of this name") }
        var found: [JSONObject] = []
        if let own = directory.own, let name = directory.ownIssuer, UserDirectory.means(issuer, name) {
            found += Self.named(name, try await own.openSessions(of: subject))
        }
        for pool in directory.pools where UserDirectory.means(issuer, pool.issuer) {
            found += Self.named(
                pool.issuer, try await pool.sessions.open(of: subject, requestID: requestID))
        }
        return found
    }

    private static func named(_ issuer: String, _ sessions: [JSONObject]) -> [JSONObject] {
        sessions.map { session in
            var session = session
            session["issuer"] = .string(issuer)
            return session
        }
    }

    private func endSession(_ id: String, _ directory: UserDirectory) async throws -> JSONObject {
        let owner = try await owner(of: id, directory)
        let ended = try await reporting(.sessionsEnded, "admin-end-session", owner.subject, directory) {
            // The session may have ended since the lookup.
            guard let ended = try await owner.end() else { throw Self.noSession }
            return ended
        }
        return Self.ended(ended.count, failures: ended.providerFailures)
    }

    /// The session's user, and the operation that ends the session.
    private func owner(
        of id: String, _ directory: UserDirectory
    ) async throws -> (subject: String, end: () async throws -> EndedSessions?) {
        if let own = directory.own, let user = try await own.user(ofSession: id) {
            return (user, { try await own.endSession(id, requestID: requestID) })
        }
        for pool in directory.pools {
            if let user = try await pool.sessions.user(ofSession: id, requestID: requestID) {
                return (user, { try await pool.sessions.end(id, requestID: requestID) })
            }
        }
        throw Self.noSession
    }

    private static let noSession = missing("There is no session of this id that goes on.")

    /// Ends all sessions of a subject. First the tokens of other issuers are revoked, including those of sessions that
    /// are not stored here; then the stored sessions are ended.
    private func endSessions(of subject: String, _ issuer: String?, _ directory: UserDirectory) async throws
        -> JSONObject
    {
        guard directory.knows(issuer: issuer) else { throw Self.malformed("there is no issuer of this name") }
        let ended = try await reporting(.sessionsEnded, "admin-end-sessions", subject, directory) {
            try await revoke(subject, directory.others(named: issuer), directory)
            var all = EndedSessions()
            if let own = directory.own, directory.ownIssuer.map({ UserDirectory.means(issuer, $0) }) ?? (issuer == nil)
            {
                all += try await own.endSessionsIfKnown(of: subject, requestID: requestID)
            }
            for pool in directory.pools where UserDirectory.means(issuer, pool.issuer) {
                all += try await pool.sessions.endAll(of: subject, requestID: requestID)
            }
            return all
        }
        return Self.ended(ended.count, failures: ended.providerFailures)
    }

    private func revoke(_ subject: String, _ issuers: [Issuer], _ directory: UserDirectory) async throws {
        let now = directory.revocations.revocationTime()
        // At least as long as with `gatehouse revoke`, and until no refresh can yield tokens of these sign-ins.
        let endsAt = now + max(30 * 86_400, directory.longestRefresh + 86_400)
        try await directory.revocations.revoke(
            issuers.map { Revocation(issuer: $0.issuer, .subject(subject, before: now), endsAt: endsAt) })
    }

    private static func ended(_ count: Int, failures: Int = 0) -> JSONObject {
        ["sessions_ended": number(count), "provider_failures": number(failures)]
    }

    // MARK: Parts

    /// Performs an operation and records it in the audit log. If the store fails halfway, the record contains the
    /// reason. Other refusals are not recorded.
    private func reporting<Value>(
        _ kind: AuditEventKind, _ operation: String, _ subject: String, _ directory: UserDirectory,
        change: String? = nil, _ work: () async throws -> Value
    ) async throws -> Value {
        var event = AuditEvent(
            kind, time: WallClock.milliseconds(), requestID: requestID, subject: subject, address: caller.address,
            application: "admin", operation: operation, operatorName: caller.name, change: change)
        do {
            let value = try await work()
            await directory.audit?.record(event)
            return value
        } catch {
            let refusal = refusal(of: error)
            guard refusal.error == .serviceUnavailable else { throw refusal }
            event.reason = refusal.reason.code
            await directory.audit?.record(event)
            throw refusal
        }
    }

    private func refusal(of error: any Error) -> Refusal {
        switch error {
        case let refusal as Refusal: return refusal
        case let error as UserAdministration.Failure where error.isUnknownUser: return Self.missing("\(error)")
        case let error as UserAdministration.Failure: return Self.malformed("\(error)")
        default:
            logger.error(
                "users and sessions cannot be read or changed",
                metadata: ["request_id": "\(requestID)", "error": "\(error)"])
            return .retryLater(.serviceUnavailable, after: 5, reason: .account(.sessionRecordsUnavailable))
        }
    }

    private static func number(_ value: Int) -> JSON { .number(JSONNumber(value)) }

    private static func missing(_ message: String) -> Refusal {
        Refusal(.notFound, message: message, reason: .request(.noRoute))
    }

    private static func malformed(_ message: String) -> Refusal {
        Refusal(.badRequest, message: message, reason: .request(.invalidParameter))
    }
}
