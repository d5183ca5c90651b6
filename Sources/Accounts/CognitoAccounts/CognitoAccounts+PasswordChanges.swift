internal import Cognito
internal import Encoding
internal import Logging
internal import Pipeline
internal import Store

/// Password changes, stored until the earlier sessions have ended.
extension CognitoAccounts {
    /// A stored change: one record for each user whose password it may be.
    struct StoredChange: Sendable {
        fileprivate var ids: [[UInt8]]
        fileprivate var changes: PasswordChanges
    }

    /// The time until which Cognito may make a change that begins now.
    private var latestChange: Int64 { revocationTime() + settings.deadline.components.seconds + 1 }

    /// Stores a password change before the user makes it with a proof of the old password.
    ///
    /// - Parameters:
    ///   - subject: nil if the gateway does not know whose password it is. Storing takes the same time.
    ///   - own: the `origin_jti` of the session that continues; nil: all end.
    /// - Returns: nil if no session ends.
    func storeChange(
        of subject: String?, sparing own: String?, _ request: AccountRequest
    ) async throws(Refusal) -> StoredChange? {
        try await store([EndedByPassword(subject: subject, spared: own, signedInUntil: latestChange)], request)
    }

    /// As ``storeChange(of:sparing:_:)``, for a user known by name.
    func storeChange(named name: String, _ request: AccountRequest) async throws(Refusal) -> StoredChange? {
        guard settings.passwordChanges.endsOtherSessions, passwordChanges != nil else { return nil }
        return try await store(ended(named: [name], until: latestChange, request), request)
    }

    /// As ``storeChange(named:_:)``, for a sign-in that continues with the new password.
    func storeChangeAtSignIn(named names: [String], _ request: AccountRequest) async throws(Refusal) -> StoredChange? {
        guard settings.passwordChanges.endsOtherSessions, passwordChanges != nil else { return nil }
        return try await store(ended(named: names, until: revocationTime() - 1, request), request)
    }

    /// Returns the sessions of all users with this name, or of no user: storing the latter takes the same time.
    private func ended(
        named names: [String], until latest: Int64, _ request: AccountRequest
    ) async throws(Refusal) -> [EndedByPassword] {
        var subjects: [String?] = try await knownSubjects(named: names, request)
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

    /// Removes a change whose sessions have ended, or whose password was not set.
    func finish(_ change: StoredChange?) async {
        guard let change else { return }
        // A separate task: a client that disconnects must not leave the record behind.
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

    /// Leaves the sessions that could not be ended to ``endLeftOverSessions()``.
    func leave(_ change: StoredChange?) {
        for id in change?.ids ?? [] { change?.changes.leave(id) }
    }

    /// Ends the sessions of changes that an earlier process, or an earlier call, did not complete.
    func endLeftOverSessions() async {
        guard let passwordChanges else { return }
        let request = AccountRequest(operation: .changePassword, requestID: "", clientAddress: "")
        do {
            try await passwordChanges.removeDone()
            // The time of two calls to Cognito, which a change may take, and of the records.
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

/// Ends the sessions of password changes that were not completed.
package final class LeftOverSessions: Sendable {
    private static let interval = Duration.seconds(10)

    private let accounts: [CognitoAccounts]

    /// - Returns: nil if no client stores password changes.
    package init?(_ accounts: [CognitoAccounts]) {
        self.accounts = accounts.filter { $0.passwordChanges != nil }
        if self.accounts.isEmpty { return nil }
    }

    /// Runs until cancelled. The first round is immediate, for the changes that the previous process left.
    package func run() async {
        while !Task.isCancelled {
            for each in accounts where !Task.isCancelled {
                // A separate task: a reload must not interrupt the work.
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
