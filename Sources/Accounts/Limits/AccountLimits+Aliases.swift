internal import Encoding
internal import Locking
internal import Logging
internal import Store

// An account can be called by several names. Failures count for the name and for the account itself, once it is known:
// so another name gives nobody more guesses.
extension AccountLimits {
    /// How long it is known which account a name is of, in seconds.
    private static let aliasLifetime: Int64 = 90 * 86_400

    /// It is known, or may be, which account a call is of that was let through.
    ///
    /// - Parameters:
    ///   - admitted: gets the account as one more thing that a failure is counted by.
    ///   - account: nil where only earlier calls can say. Of an unknown step it is what the step claims: then it counts
    ///     beside what earlier calls say, and nobody learns from it.
    /// - Returns: that the account is locked, which counts nothing for it.
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

    /// The accounts that a name may be of, each by what its failures are counted by.
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

    /// Notes a sign-in that was right: failures are forgotten, and the device is known, unless too many new ones came.
    ///
    /// - Parameters:
    ///   - call: with what has been learnt of it meanwhile.
    ///   - account: the account itself, whatever it was called.
    ///   - ownsNames: whether nobody else has had the user's names, in any case; asked where failures would be forgotten.
    ///     They may be guesses at somebody else, whose name only looks the same: these stay.
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

    /// Whether the account knows the device of a sign-in. That may be another one than the call was admitted with: the
    /// pool may have given it a new key, and a device that is proven otherwise may call itself anything.
    private func isKnown(_ device: String, _ admitted: AdmittedCall, _ call: LimitedCall) async -> Bool {
        if case .some = call.provenDevice {
            return await knows(device: call.account.map { keys.knownDevice(device, of: $0) }, failures: [])
        }
        return admitted.knownDevice.map { $0.hasSameBytes(as: device) } ?? false
    }

    /// Counts a new device of an account, unless it has had enough of them.
    private func takesDevice(of account: String) -> Bool {
        let (key, now) = (keys.newDevices(of: account), now())
        return state.withLock { $0.takesDevice(key, at: now) }
    }

    /// The account that tokens are of is all that a step proves which nobody knows the beginning of. The name in it,
    /// and where it comes from, keep their failures: else anybody's own sign-in would make room for more guesses.
    private func succeededUnknown(_ admitted: AdmittedCall, as account: String?) async {
        ended(admitted)
        guard let key = account.map(keys.failures(of:)), forget(key) else { return }
        await removeFailures(of: key)
    }

    /// The account's owner has proven otherwise who they are, as by a code that was sent: the account's lock ends, and
    /// guesses by calls with a token were at a password that is gone.
    ///
    /// - Parameter subjects: the owner, as far as is known.
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

    /// Whether one of the accounts that a name may be of knows the device. Their failures are taken over from the store.
    ///
    /// - Parameters:
    ///   - accounts: the keys that count the accounts' failures: at most one, or two for an unknown step. Instead of
    ///     those that are missing meaningless keys are looked up, which takes as long.
    ///   - typed: the key that counts the failures of the name.
    private func isKnownDevice(_ call: LimitedCall, of accounts: [String], calledBy typed: String) async -> Bool {
        let most = call.isUnknownStep ? 2 : 1
        let padding = (accounts.count..<max(most, accounts.count)).map { keys.padding(of: typed, number: $0) }
        let account = accounts.first ?? keys.padding(of: typed, number: 0)
        let device = call.isUnknownStep ? nil : call.device.map { keys.knownDevice($0, ofKey: account) }
        return await knows(device: device, failures: accounts, padding: padding)
    }

    /// Stores which account a name is of, for other gateways. Only a sign-in proves it.
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
