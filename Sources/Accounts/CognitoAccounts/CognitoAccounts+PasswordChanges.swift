internal import Cognito
internal import Encoding
internal import Logging
internal import Pipeline
internal import Store

/// The changes of passwords that are stored until the sessions from before have ended.
extension CognitoAccounts {
    /// A stored change: one for each user whose it may be.
    struct StoredChange: Sendable {
        fileprivate var ids: [[UInt8]]
        fileprivate var changes: PasswordChanges
    }

    /// Cognito makes a change until then, or not at all.
    private var latestChange: Int64 { revocationTime() + settings.deadline.components.seconds + 1 }

    /// Stores that a user is about to set a new password by a proof of the old one.
    ///
    /// - Parameters:
    ///   - subject: nil where the gateway does not know whose password it is. It takes as long.
    ///   - own: the `origin_jti` of the session that goes on; nil: none does.
    /// - Returns: nil where no session ends.
    func storeChange(
        of subject: String?, sparing own: String?, _ request: AccountRequest
    ) async throws(Refusal) -> StoredChange? {
        try await store([EndedByPassword(subject: subject, spared: own, signedInUntil: latestChange)], request)
    }

    /// As ``storeChange(of:sparing:_:)``, of a user whose name is known.
    func storeChange(named name: String, _ request: AccountRequest) async throws(Refusal) -> StoredChange? {
        guard settings.passwordChanges.endsOtherSessions, passwordChanges != nil else { return nil }
        return try await store(ended(named: name, until: latestChange, request), request)
    }

    /// As ``storeChange(named:_:)``, at a sign-in that goes on with the new password.
    func storeChangeAtSignIn(named name: String?, _ request: AccountRequest) async throws(Refusal) -> StoredChange? {
        guard settings.passwordChanges.endsOtherSessions, passwordChanges != nil else { return nil }
        return try await store(ended(named: name, until: revocationTime() - 1, request), request)
    }

    /// The sessions of all users whose name it is, or nobody's: storing these takes as long.
    private func ended(
        named name: String?, until latest: Int64, _ request: AccountRequest
    ) async throws(Refusal) -> [EndedByPassword] {
        var subjects: [String?] = []
        if let name { subjects = try await knownSubjects(named: name, request) }
        if subjects.isEmpty { subjects = [nil] }
        return subjects.map { EndedByPassword(subject: $0, spared: nil, signedInUntil: latest) }
    }

    private func store(
        _ ended: [EndedByPassword], _ request: AccountRequest
    ) async throws(Refusal) -> StoredChange? {
        guard settings.passwordChanges.endsOtherSessions, let passwordChanges else { return nil }
        var change = StoredChange(ids: [], changes: passwordChanges)
        for sessions in ended {
            do throws(Refusal) {
                let id = try await withRecords(request) {
                    try await passwordChanges.begin(sessions, poolID: settings.poolID, clientID: settings.clientID)
                }
                change.ids.append(id)
            } catch {
                await finish(change)
                throw error
            }
        }
        return change
    }

    /// The sessions have ended, or the password was not set.
    func finish(_ change: StoredChange?) async {
        guard let change else { return }
        // In a task of its own: one who hangs up must not have it left over.
        let removal = Task {
            var failure: (any Error)?
            for id in change.ids {
                do { try await change.changes.finish(id) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        do {
            try await removal.value
        } catch {
            logger.warning(
                "the stored change of a password is removed later",
                metadata: ["pool_id": "\(settings.poolID)", "error": "\(error)"])
        }
    }

    /// The sessions that could not be ended are left to ``endLeftOverSessions()``.
    func leave(_ change: StoredChange?) {
        for id in change?.ids ?? [] { change?.changes.leave(id) }
    }

    /// Ends the sessions of changes that an earlier process, or an earlier call, did not bring to their end.
    func endLeftOverSessions() async {
        guard let passwordChanges else { return }
        let request = AccountRequest(operation: .changePassword, requestID: "", clientAddress: "")
        do {
            try await passwordChanges.removeDone()
            // Two calls of Cognito's, which a change may take, and the records.
            let changes = try await passwordChanges.leftOver(
                poolID: settings.poolID, clientID: settings.clientID,
                patience: 2 * settings.deadline.components.seconds + 10)
            for change in changes {
                if let subject = change.subject, settings.passwordChanges.endsOtherSessions {
                    try await endNow(
                        of: subject, sparing: change.spared, signedInUntil: change.endsSignInsUntil, request)
                    logger.notice(
                        "sessions were ended later than the password was set",
                        metadata: ["pool_id": "\(settings.poolID)"])
                }
                try await passwordChanges.finish(change.id)
            }
        } catch {
            logger.error(
                "sessions from before a new password cannot be ended",
                metadata: [
                    "pool_id": "\(settings.poolID)", "error": "\((error as? Refusal)?.reason.code ?? "\(error)")",
                ])
        }
    }
}

/// Ends the sessions of changes of passwords that were not brought to their end.
package final class LeftOverSessions: Sendable {
    private static let interval = Duration.seconds(10)

    private let accounts: [CognitoAccounts]

    /// - Returns: nil where nobody changes a password.
    package init?(_ accounts: [CognitoAccounts]) {
        self.accounts = accounts.filter { $0.passwordChanges != nil }
        if self.accounts.isEmpty { return nil }
    }

    /// Until cancelled; at first at once, for what the process before has left.
    package func run() async {
        while !Task.isCancelled {
            for each in accounts where !Task.isCancelled {
                // In a task of its own: a reload must not leave it half-done.
                await Task { await each.endLeftOverSessions() }.value
            }
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }
}
