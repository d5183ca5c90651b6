internal import Encoding
internal import Locking
internal import Logging
internal import Store

// An account can have several names. Failures count for the name and, once it is known, for the account itself, so that
// another name allows no further guesses.
extension AccountLimits {
    /// The time for which the account of a name is remembered, in seconds.
    private static let aliasLifetime: Int64 = 90 * 86_400

    /// Adds the account of an admitted call, once it is or may be known.
    ///
    /// - Parameters:
    ///   - admitted: gets the account as another key under which a failure is counted.
    ///   - account: nil if only earlier calls show it. For an unknown step, the account that the step claims: it counts
    ///     in addition to the one from earlier calls, and is not remembered.
    /// - Returns: the lock of the account, for which nothing is counted then; nil if it is not locked.
    func identify(
        _ admitted: inout AdmittedCall, _ call: LimitedCall, as account: String?
    ) async -> LimitReached? {
        guard let typed = admitted.failureKeys.first, !admitted.isKnownDevice else { return nil }
        let accounts = accounts(account.map(keys.failures(of:)), calledBy: typed, learns: !call.isUnknownStep)
        if await isKnownDevice(call, of: accounts, calledBy: typed) { return nil }
        var longest: LimitReached?
        for key in accounts {
            switch tryAccount(key, calledBy: typed, known: admitted.failureKeys + admitted.accountKeys) {
            case .open(let key, let isCleared):
                admitted.accountKeys.append(key)
                if isCleared { await removeFailures(of: key) }
            case .locked(let reached): if reached.retryAfter > longest?.retryAfter ?? 0 { longest = reached }
            case .unknown: break
            }
        }
        return longest
    }

    private func removeFailures(of key: String) async {
        do {
            try await resetFailures(of: [key])
        } catch {
            logger.error("failed sign-ins were reset in memory only", metadata: ["error": "\(error)"])
        }
    }

    /// Returns the accounts that a name may belong to, each as the key that counts its failures.
    private func accounts(_ key: String?, calledBy typed: String, learns: Bool) -> [String] {
        let now = now()
        return state.withLock { state in
            if let key, learns {
                state.note(alias: typed, of: key, endsAt: now / 1000 + Self.aliasLifetime, at: now)
            }
            return [state.account(calledBy: typed, at: now), learns ? nil : key].compactMap { $0 }
        }
    }

    private func tryAccount(_ key: String, calledBy typed: String, known: [String]) -> LimitState.AccountTrial {
        let now = now()
        return state.withLock { $0.tryAccount(key, calledBy: typed, known: known, at: now) }
    }

    /// Records a successful sign-in: resets the failures and remembers the device, unless there were too many new ones.
    ///
    /// - Parameters:
    ///   - call: with the facts learnt since its admission.
    ///   - account: the account itself, whatever name the call has.
    ///   - ownsNames: returns whether no other user has had the user's names, in any letter case; called only if
    ///     failures would be reset. They may be guesses at another user with a similar name, and then stay.
    package func succeeded(
        _ admitted: AdmittedCall, _ call: LimitedCall, as account: String? = nil,
        ownsNames: @Sendable () async -> Bool = { true }
    ) async {
        guard let typed = admitted.failureKeys.first else { return }
        guard !admitted.isUnknownStep else { return await succeededUnknown(admitted, as: account) }
        let isExact = if case .some = call.guess { true } else { admitted.isKnownDevice }
        var ofNames = isExact ? admitted.accountKeys : admitted.failureKeys + admitted.accountKeys
        if let account, !admitted.isKnownDevice {
            let key = self.keys.failures(of: account)
            note(alias: typed, of: key)
            if !ofNames.contains(key) { ofNames.append(key) }
        }
        if ofNames.contains(where: hasFailed), await !ownsNames() {
            let now = now()
            let begun = (isExact ? [] : admitted.failureKeys) + admitted.accountKeys
            for key in begun { state.withLock { $0.settle(key, at: now) } }
            ofNames = []
        }
        do {
            try await resetFailures(of: ((isExact ? admitted.failureKeys : []) + ofNames).filter(forget))
            if let account, !admitted.isKnownDevice { try await remember(account, of: typed, admitted) }
            guard let device = call.device, let owner = account ?? call.account else { return }
            guard await isKnown(device, admitted, call) || takesDevice(of: owner) else { return }
            let known = [
                call.account.map { self.keys.knownDevice(device, of: $0) },
                account.map { self.keys.knownDevice(device, ofKey: self.keys.failures(of: $0)) },
            ]
            for key in known.compactMap({ $0 }) {
                try await records.remember(device: key, endsAt: now() / 1000 + Self.deviceLifetime)
            }
        } catch {
            logger.error("a sign-in's device was not stored", metadata: ["error": "\(error)"])
        }
    }

    /// Returns whether the account knows the device of a sign-in. It may differ from the one at admission: the pool may
    /// have given it a new key, and a device with another proof can claim any ID.
    private func isKnown(_ device: String, _ admitted: AdmittedCall, _ call: LimitedCall) async -> Bool {
        if case .some = call.provenDevice {
            return await knows(device: call.account.map { keys.knownDevice(device, of: $0) }, failures: [])
        }
        return admitted.knownDevice.map { $0.hasSameBytes(as: device) } ?? false
    }

    /// Counts a new device of an account; returns false if the account has had too many.
    private func takesDevice(of account: String) -> Bool {
        let (key, now) = (keys.newDevices(of: account), now())
        return state.withLock { $0.takesDevice(key, at: now) }
    }

    /// Records the success of a step with an unknown beginning. It proves only the account of its tokens. The name in
    /// it, and the client's address, keep their failures: otherwise anybody's own sign-in would allow more guesses.
    private func succeededUnknown(_ admitted: AdmittedCall, as account: String?) async {
        ended(admitted)
        guard let key = account.map(keys.failures(of:)), forget(key) else { return }
        await removeFailures(of: key)
    }

    /// Ends the lock of an account whose owner has proven their identity in another way, such as by a code. Failures of
    /// calls with a token are reset too: those were guesses at a password that is no longer valid.
    ///
    /// - Parameter subjects: the owner, as far as it is known.
    func unlock(account: String, subjects: [String] = []) async {
        let named = forgetAll(calledBy: keys.failures(of: account))
        let ofTokens = named.isEmpty ? [] : subjects.map { keys.failures(ofTokensOf: $0) }
        for key in ofTokens { _ = forget(key) }
        do {
            try await resetFailures(of: named + ofTokens)
        } catch {
            logger.error("failed sign-ins were reset in memory only", metadata: ["error": "\(error)"])
        }
    }

    /// Returns whether one of the accounts that a name may belong to knows the device. The same read takes over the
    /// accounts' failures from the store.
    ///
    /// - Parameters:
    ///   - accounts: the keys that count the accounts' failures: at most one, or two for an unknown step. Missing ones
    ///     are replaced by meaningless keys, so that the lookup takes the same time.
    ///   - typed: the key that counts the failures of the name.
    private func isKnownDevice(_ call: LimitedCall, of accounts: [String], calledBy typed: String) async -> Bool {
        let most = call.isUnknownStep ? 2 : 1
        let padding = (accounts.count..<max(most, accounts.count)).map { keys.padding(of: typed, number: $0) }
        let account = accounts.first ?? keys.padding(of: typed, number: 0)
        let device = call.isUnknownStep ? nil : call.device.map { keys.knownDevice($0, ofKey: account) }
        return await knows(device: device, failures: accounts, padding: padding)
    }

    /// Stores the account of a name for other gateways. Only a sign-in proves it.
    private func remember(_ account: String, of typed: String, _ admitted: AdmittedCall) async throws {
        let key = keys.failures(of: account)
        let isStored = admitted.storedAccount.map { $0.hasSameBytes(as: key) } ?? false
        guard records.areShared, !isStored, !typed.hasSameBytes(as: key) else { return }
        try await records.remember(account: key, of: typed, endsAt: now() / 1000 + Self.aliasLifetime)
    }

    func note(alias typed: String, of key: String) {
        let now = now()
        state.withLock { $0.note(alias: typed, of: key, endsAt: now / 1000 + Self.aliasLifetime, at: now) }
    }

    private func hasFailed(_ key: String) -> Bool {
        let now = now()
        return state.withLock { $0.hasFailures(key, at: now) }
    }

    /// - Returns: whether there was a failure.
    private func forget(_ key: String) -> Bool {
        let now = now()
        return state.withLock { $0.forget(key, at: now) }
    }

    private func forgetAll(calledBy typed: String) -> [String] {
        let now = now()
        return state.withLock { $0.forgetAll(calledBy: typed, at: now) }
    }
}
