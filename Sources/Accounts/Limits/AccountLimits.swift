package import Cryptography
internal import Locking
package import Logging
package import Pipeline
package import Store

/// The refusal of a call by a limit.
package struct LimitReached: Error, Equatable, Sendable {
    package var cause: LimitCause
    /// The whole seconds until the next try; at least one.
    package var retryAfter: Int
}

/// An admitted call, to be returned with its outcome.
package struct AdmittedCall: Sendable {
    /// The keys under which a failure is counted: the account's name; for an unknown step also its digests and the
    /// client's address; for a guess by a call with a token its session and all sessions of the account.
    var failureKeys: [String] = []
    /// The keys of the account itself, if it is known. A failure counts under these as well.
    var accountKeys: [String] = []
    /// The known device of the call, which has a lock of its own; nil if there is none.
    var knownDevice: String?
    var isUnknownStep = false
    /// The account that the store has for the name; nil if there is none.
    var storedAccount: String?
    /// Whether failures of other gateways may be missing, because the store could not be read.
    var isUncertain = false

    var isKnownDevice: Bool { if case .some = knownDevice { true } else { false } }
}

/// Counts account calls and failed sign-ins, and decides which calls are admitted.
///
/// Decisions are made in memory. Failures are stored before the response to their call; counts of calls follow within a
/// second. Unknown accounts are counted like known ones: by name.
///
/// A device from which an account was signed in to is known for ``deviceLifetime`` and has budgets of its own, beside
/// the account's: failures from elsewhere do not lock it out.
package final class AccountLimits: Sendable {
    /// The gateways that share the records.
    private struct Gateways: Sendable {
        var count: @Sendable () -> Int = { 1 }
    }

    /// The time for which a device is known after its last sign-in, in seconds.
    static let deviceLifetime: Int64 = 90 * 86_400

    let state: Locked<LimitState>
    private let gateways = Locked(Gateways())
    let keys: LimitKeys
    let records: any LimitRecords
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    let logger: Logger

    /// - Parameters:
    ///   - key: the key of the hashes that replace names and addresses in the store.
    ///   - now: milliseconds since 1970.
    package init(
        settings: AccountLimitSettings, key: Secret, records: any LimitRecords, logger: Logger,
        now: @escaping @Sendable () -> Int64
    ) {
        state = Locked(LimitState(settings))
        keys = LimitKeys(key)
        self.records = records
        self.logger = logger
        self.now = now
    }

    /// Replaces the limits; the counts stay.
    package func adopt(_ settings: AccountLimitSettings) {
        state.withLock { $0.settings = settings }
    }

    /// Divides concurrent attempts among the gateways that share the records.
    ///
    /// - Parameter gateways: returns their number, this one included. Called for each call.
    package func share(among gateways: @escaping @Sendable () -> Int) {
        self.gateways.withLock { $0 = Gateways(count: gateways) }
    }

    /// The number of refused calls by cause.
    package var refusals: [(cause: String, count: Int)] {
        let refused = state.withLock { $0.refused }
        return LimitCause.allCases.map { ($0.rawValue, refused[$0] ?? 0) }
    }

    // MARK: Calls

    /// Admits a call and counts it, or refuses it without counting.
    package func admit(_ call: LimitedCall) async throws(LimitReached) -> AdmittedCall {
        let settings = state.withLock { $0.settings }
        let address = addressLimit(call, settings)
        // The address's own limit reveals nothing about the account, and needs no access to the store.
        if let address, let reached = refuse(beyond: address) { throw reached }
        var admitted = AdmittedCall()
        let knownDevice = await knownDevice(of: call, &admitted)
        let now = now()
        admitted.failureKeys = failureKeys(of: call, knownDevice: knownDevice)
        if call.countsGuesses, call.account != nil { admitted.knownDevice = knownDevice }
        admitted.isUnknownStep = call.budget == .signIn && call.isUnknownStep
        // The account's lock refuses no call with a token, but failures of such calls add to it.
        if let guess = call.guess { admitted.accountKeys = [keys.failures(of: guess.account)] }
        let gateways = self.gateways.withLock { $0 }.count()
        let counted = [address].compactMap { $0 } + otherLimits(call, settings, knownDevice: knownDevice)
        let reached = state.withLock { state in
            state.gateways = gateways
            return state.admit(counted, failures: admitted.failureKeys, accounts: admitted.accountKeys, at: now)
        }
        if let reached { throw reached }
        return admitted
    }

    private func refuse(beyond limit: CountedLimit) -> LimitReached? {
        let now = now()
        return state.withLock { $0.refuse([limit], at: now) }
    }

    /// Ends a call that has proven nothing.
    package func ended(_ call: AdmittedCall) {
        let now = now()
        for key in call.failureKeys + call.accountKeys { state.withLock { $0.settle(key, at: now) } }
    }

    /// Counts a failed sign-in. When this returns, the count is stored, or only in memory if the store fails.
    ///
    /// - Returns: whether it locks the account, or the known device.
    package func failed(_ call: AdmittedCall) async -> Bool {
        let now = now()
        let counted = call.failureKeys + call.accountKeys
        guard let failure = noteFailures(counted, at: now) else { return false }
        do {
            let written = try await records.addFailures(
                of: counted + padding(of: call), at: now, endsAt: failure.endsAt)
            return adopt(written.prefix(counted.count), at: now)
        } catch {
            logger.error("a failed sign-in is counted in memory only", metadata: ["error": "\(error)"])
            return failure.isLocked
        }
    }

    /// Returns keys for rows that count nothing. The same number of rows is written whether or not the account is
    /// known, and in one transaction: otherwise response times would reveal it.
    private func padding(of call: AdmittedCall) -> [String] {
        guard let first = call.failureKeys.first else { return [] }
        let most = call.isUnknownStep ? 2 : 1
        return (call.accountKeys.count..<max(most, call.accountKeys.count)).map { keys.padding(of: first, number: $0) }
    }

    private func noteFailures(_ keys: [String], at now: Int64) -> (endsAt: Int64, isLocked: Bool)? {
        state.withLock { state in
            let noted = keys.compactMap { state.fail($0, at: now) }
            return noted.first.map { ($0.endsAt, noted.contains(where: \.isLocked)) }
        }
    }

    private func adopt(_ records: some Sequence<FailureRecord>, at now: Int64) -> Bool {
        state.withLock { state in
            records.reduce(false) { isLocked, record in state.adopt(record, at: now) || isLocked }
        }
    }

    private func failureKeys(of call: LimitedCall, knownDevice: String?) -> [String] {
        if let guess = call.guess {
            let ofSession = guess.session.map { keys.failures(ofSession: $0, of: guess.subject) }
            return [ofSession, keys.failures(ofTokensOf: guess.subject)].compactMap { $0 }
        }
        var failureKeys: [String] = []
        if call.countsGuesses, let account = call.account {
            failureKeys = [knownDevice.map { keys.failures(of: account, on: $0) } ?? keys.failures(of: account)]
        }
        if call.budget == .signIn, let shown = call.unknownStep {
            failureKeys += shown.map(keys.failures(ofStep:))
            failureKeys.append(keys.failures(ofStepsFrom: call.clientAddress))
        }
        return failureKeys
    }

    /// Returns the device of a call if the account knows it; nil otherwise. The same read takes over failures that
    /// other gateways have counted or reset, so that they count for this call.
    private func knownDevice(of call: LimitedCall, _ admitted: inout AdmittedCall) async -> String? {
        let proven = call.isUnknownStep ? nil : call.provenDevice
        let device = call.isUnknownStep || proven != nil || call.account == nil ? nil : call.device
        let counted = Set(
            failureKeys(of: call, knownDevice: nil) + failureKeys(of: call, knownDevice: proven ?? device))
        let named = device.flatMap { device in call.account.map { keys.knownDevice(device, of: $0) } }
        guard named != nil || !counted.isEmpty else { return proven }
        let typed = call.countsGuesses && !call.isUnknownStep ? call.account.map(keys.failures(of:)) : nil
        guard let standing = await standing(ofDevice: named, failures: counted.sorted(), name: typed) else {
            admitted.isUncertain = records.areShared
            return proven
        }
        if let typed, let account = standing.account {
            admitted.storedAccount = account
            note(alias: typed, of: account)
        }
        return proven ?? (standing.knowsDevice ? device : nil)
    }

    /// Returns whether the store knows a device, and takes over its failures.
    ///
    /// - Parameter padding: keys that are looked up only for the time that it takes.
    func knows(device key: String?, failures keys: [String], padding: [String] = []) async -> Bool {
        await standing(ofDevice: key, failures: keys, padding: padding)?.knowsDevice ?? false
    }

    /// Reads the standing from the store; nil if it cannot be read.
    private func standing(
        ofDevice key: String?, failures keys: [String], padding: [String] = [], name: String? = nil
    ) async -> LimitStanding? {
        do {
            let standing = try await records.standing(
                ofDevice: key, failures: keys + padding, name: name, now: now() / 1000)
            _ = adopt(standing.failures.filter { keys.contains($0.key) }, at: now())
            return standing
        } catch {
            logger.error("known devices and failed sign-ins cannot be looked up", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Resets failures in the store, for all gateways that share it.
    func resetFailures(of keys: [String]) async throws {
        let now = now()
        let endsAt = now / 1000 + state.withLock { $0.settings.lockout?.forgetAfter ?? 0 }
        for key in keys {
            let record = try await records.resetFailures(of: key, at: now, endsAt: endsAt)
            _ = adopt([record], at: now)
        }
    }

    private func otherLimits(
        _ call: LimitedCall, _ settings: AccountLimitSettings, knownDevice: String?
    ) -> [CountedLimit] {
        let budget = call.budget
        let limits = settings[budget]
        var counted: [CountedLimit] = []
        if let limit = limits.account, let account = call.account {
            counted.append(CountedLimit(.account, key(of: account, on: knownDevice, budget, limit), limit))
        }
        if let limit = limits.global, knownDevice == nil, !call.isOfAccountOnly {
            counted.append(CountedLimit(.global, keys.global(budget, limit), limit))
        }
        return counted
    }

    private func key(
        of account: String, on knownDevice: String?, _ budget: AccountBudget, _ limit: RateLimit
    ) -> String {
        guard let knownDevice else { return keys.account(account, budget, limit) }
        // Messages cost money: more devices must not give an account more of them.
        return budget == .messages
            ? keys.devices(of: account, budget, limit) : keys.device(knownDevice, of: account, budget, limit)
    }

    private func addressLimit(_ call: LimitedCall, _ settings: AccountLimitSettings) -> CountedLimit? {
        guard !call.isOfAccountOnly else { return nil }
        return settings[call.budget].address.map {
            CountedLimit(.address, keys.address(call.clientAddress, call.budget, $0), $0)
        }
    }
}
