package import Cryptography
internal import Encoding
package import HTTPClient
internal import Locking
package import Logging

/// The certificates that a gateway wants, and the directory that they come from.
package struct CertificateOrder: Sendable, Equatable {
    /// The directory's https URL.
    package var directory: String
    /// E-mail addresses.
    package var contacts: [String]
    package var challenge: ACMEChallengeType
    /// Host names in lower case. Each gets a certificate of its own, so that one which cannot be validated keeps no
    /// other from being renewed.
    package var names: [String]

    package init(directory: String, contacts: [String], challenge: ACMEChallengeType, names: [String]) {
        self.directory = directory
        self.contacts = contacts
        self.challenge = challenge
        self.names = names
    }
}

/// How it stands with the certificate of one name, for operators.
package struct CertificateStanding: Sendable, Equatable {
    package let name: String
    /// Seconds since 1970; nil where there is none yet.
    package let obtainedAt: Int64?
    /// Attempts that have failed since.
    package let failures: Int64
    package let error: String?
}

/// Obtains certificates and renews them, for as long as the gateway runs.
///
/// All that it knows is in the state: where several gateways share that, one of them orders, all answer the challenge,
/// and all use the certificate.
package final class CertificateService: Sendable {
    private struct State {
        /// The state that is stored, without the certificates that cannot be served.
        var known = ACMEState()
        var isRead = false
        /// The stored certificates that were judged, and of these the ones that cannot be served.
        var judged: [ObtainedCertificate] = []
        var refused: [ObtainedCertificate] = []
        /// Nil before the first.
        var published: [ACMEChallenge]?
        var error: String?
        /// How many rounds of orders in a row could not be stored, and until when nothing is ordered for that: an
        /// order whose end cannot be stored would be made again and again.
        var storageFailures: Int64 = 0
        var pausesUntil: Int64 = 0
        var obtained: Int64 = 0
        var failed: Int64 = 0
    }

    package let order: CertificateOrder
    private let storage: any ACMEStorage
    private let fetcher: any Fetcher
    private let canServe: @Sendable (_ chain: [UInt8], _ key: Secret) -> Bool
    private let publish: @Sendable ([ACMEChallenge]) -> Void
    private let logger: Logger
    private let now: @Sendable () -> Int64
    private let holder = Hexadecimal.encode(SecureRandom.bytes(16))
    private let state = Locked(State())

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - canServe: whether listeners can use a chain, in PEM, with its key.
    ///   - publish: gets all challenges that are to be answered, whenever they change.
    package init(
        _ order: CertificateOrder, storage: any ACMEStorage, fetcher: any Fetcher, logger: Logger,
        now: @escaping @Sendable () -> Int64,
        canServe: @escaping @Sendable (_ chain: [UInt8], _ key: Secret) -> Bool,
        publish: @escaping @Sendable ([ACMEChallenge]) -> Void
    ) {
        self.order = order
        self.storage = storage
        self.fetcher = fetcher
        self.logger = logger
        self.now = now
        self.canServe = canServe
        self.publish = publish
    }

    // MARK: For others

    /// The certificates there are of the names, in the names' order.
    package var certificates: [ObtainedCertificate] {
        let known = state.withLock { $0.known }
        return order.names.compactMap { known.certificate(of: $0) }
    }

    package var standings: [CertificateStanding] {
        let state = state.withLock { $0 }
        return order.names.map { name in
            let (certificate, failure) = (state.known.certificate(of: name), state.known.failure(of: name))
            return CertificateStanding(
                name: name, obtainedAt: certificate?.obtainedAt, failures: failure?.count ?? 0,
                error: failure?.error ?? state.error)
        }
    }

    /// How many orders of this process have succeeded and failed.
    package var tally: (obtained: Int64, failed: Int64) { state.withLock { ($0.obtained, $0.failed) } }

    /// Reads the state before the gateway serves.
    package func prepare() async throws {
        try await storage.reseal()
        adopt(try await storage.read())
    }

    private func adopt(_ read: ACMEState) {
        var usable = read
        let refused = unusable(of: read.certificates)
        if !refused.isEmpty { usable.certificates.removeAll { refused.contains($0) } }
        let known = usable
        state.withLock { state in
            (state.known, state.isRead, state.error) = (known, true, nil)
        }
        publishPending()
    }

    /// The certificates that TLS here refuses, although they were stored. A listener with one of them could not start.
    /// Each is judged and logged once.
    private func unusable(of stored: [ObtainedCertificate]) -> [ObtainedCertificate] {
        let before = state.withLock { $0 }
        guard before.judged != stored else { return before.refused }
        let refused = stored.filter { certificate in
            guard order.names.contains(where: { $0.hasSameBytes(as: certificate.name) }) else { return false }
            if before.judged.contains(certificate) { return before.refused.contains(certificate) }
            return !canServe(certificate.chain, certificate.key)
        }
        for certificate in refused where !before.refused.contains(certificate) {
            logger.error(
                "the stored certificate of a name cannot be used, another one is ordered",
                metadata: ["name": "\(certificate.name)"])
        }
        state.withLock { state in
            (state.judged, state.refused) = (stored, refused)
        }
        return refused
    }

    /// Publishes the challenges that are pending, where they are others than before: some may have ended since.
    private func publishPending() {
        let time = now()
        let changed: [ACMEChallenge]? = state.withLock { state in
            let pending = state.known.pending.filter { $0.endsAt > time }.map(\.challenge)
            guard state.published != pending else { return nil }
            state.published = pending
            return pending
        }
        if let changed { publish(changed) }
    }

    // MARK: Work

    /// Between two looks at what other gateways have stored, and at the clock.
    private static let interval: Int64 = 2
    /// Of the lease, in seconds. It is renewed before each request of an order.
    static let leaseLength: Int64 = 60

    /// Until cancelled.
    package func run() async {
        while !Task.isCancelled {
            await look()
            do { try await Task.sleep(for: .seconds(Self.interval)) } catch { return }
        }
    }

    private func look() async {
        do {
            // Nobody else changes a file.
            if storage.isShared || !state.withLock({ $0.isRead }) { adopt(try await storage.read()) }
            publishPending()
            guard !due().isEmpty, state.withLock({ $0.pausesUntil }) <= now() else { return }
            guard try await storage.lease(to: holder, seconds: Self.leaseLength) else { return }
            if storage.isShared { adopt(try await storage.read()) }
            let failures = state.withLock { $0.storageFailures }
            await orderAll()
            // A lease, or the lookups of others, say nothing about whether an order's end can be stored.
            state.withLock { if $0.storageFailures == failures { $0.storageFailures = 0 } }
            try await storage.endLease(of: holder)
        } catch {
            // Nothing was ordered, or all of it is stored.
            note(storageError: error, pauses: false)
        }
    }

    /// Logs it once for as long as it lasts.
    ///
    /// - Parameter pauses: whether nothing is ordered for a while.
    private func note(storageError error: any Error, pauses: Bool = true) {
        guard !Task.isCancelled else { return }
        let (text, time) = ("\(error)", now())
        let isNews = state.withLock { state in
            defer { state.error = text }
            if pauses {
                state.storageFailures += 1
                state.pausesUntil = time + RenewalSchedule.pause(afterStorageFailures: state.storageFailures)
            }
            return state.error == nil
        }
        if isNews { logger.error("the state of certificates cannot be used", metadata: ["error": "\(text)"]) }
    }

    private func due() -> [String] {
        let (known, time) = (state.withLock { $0.known }, now())
        return RenewalSchedule.due(order.names, in: known, directory: order.directory, now: time)
    }

    private func orderAll() async {
        guard let client = await client() else { return }
        let names = due()
        guard let first = names.first, await signUp(client, for: first) else { return }
        for name in names {
            if Task.isCancelled { return }
            if await !obtain(name, client) { return }
        }
    }

    /// - Returns: whether to go on with other names.
    private func obtain(_ name: String, _ client: ACMEClient) async -> Bool {
        logger.info("ordering a certificate", metadata: ["name": "\(name)"])
        do {
            let issuance = ACMEIssuance(
                client: client, stage: OrderStage(service: self), name: name, challenge: order.challenge, now: now,
                canServe: canServe)
            let issued = try await issuance.run()
            let certificate = ObtainedCertificate(
                name: name, directory: order.directory, chain: issued.chain, key: issued.key, obtainedAt: now())
            try await change { $0.keep(certificate) }
            state.withLock { $0.obtained += 1 }
            logger.notice(
                "certificate obtained",
                metadata: ["name": "\(name)", "expires_at": .stringConvertible(issued.certificate.notAfter)])
            return true
        } catch {
            if Task.isCancelled { return false }
            let endsAccount = (error as? ACMEError).map { RenewalSchedule.endsAccount($0) } ?? false
            return await failed(name, error, isOfAccount: endsAccount)
        }
    }

    /// - Parameter isOfAccount: whether no order of any name can succeed.
    /// - Returns: whether to go on with other names.
    private func failed(_ name: String, _ error: any Error, isOfAccount: Bool) async -> Bool {
        guard let error = error as? ACMEError else {
            note(storageError: error)
            return false
        }
        // The other gateway says how it ended.
        guard error != .leaseLost else { return false }
        let (names, time) = (due(), now())
        state.withLock { $0.failed += 1 }
        do {
            try await change { state in
                let failures = RenewalSchedule.failures(
                    after: error, of: name, among: names, in: state, isOfAccount: isOfAccount, at: time)
                for failure in failures { state.keep(failure) }
                if RenewalSchedule.endsAccount(error) { state.account?.url = nil }
            }
        } catch {
            note(storageError: error)
            return false
        }
        let next = state.withLock { $0.known }.failure(of: name)?.nextAt ?? time
        logger.error(
            "no certificate obtained",
            metadata: ["name": "\(name)", "error": "\(error)", "next_attempt_seconds": .stringConvertible(next - time)])
        return !isOfAccount && !RenewalSchedule.concernsAll(error)
    }

    // MARK: The account

    /// The account's key, made and stored before the directory sees it.
    private func client() async -> ACMEClient? {
        do {
            let directory = order.directory
            if state.withLock({ $0.known }).account?.directory.hasSameBytes(as: directory) != true {
                let key = try P256SigningKey.generate().privateKeyPEM()
                try await change { state in
                    // Another gateway may have been faster.
                    if state.account?.directory.hasSameBytes(as: directory) == true { return }
                    state.account = ACMEState.Account(directory: directory, key: key, url: nil, contacts: [])
                }
            }
            guard let account = state.withLock({ $0.known }).account else { return nil }
            return ACMEClient(
                directory: directory, key: try P256SigningKey(pem: account.key), fetcher: fetcher, now: now)
        } catch {
            note(storageError: error)
            return nil
        }
    }

    /// Makes sure that there are a directory and an account. Their errors end a round, whichever they are.
    ///
    /// - Parameter name: the first name of the round.
    /// - Returns: whether orders can be made.
    private func signUp(_ client: ACMEClient, for name: String) async -> Bool {
        do {
            try await client.readDirectory()
            try await signUp(client)
            return true
        } catch {
            if Task.isCancelled { return false }
            _ = await failed(name, error, isOfAccount: true)
            return false
        }
    }

    private func signUp(_ client: ACMEClient) async throws {
        guard let account = state.withLock({ $0.known }).account else { return }
        let contacts = order.contacts
        let url = try await client.useAccount(account.url, contacts: contacts)
        guard account.url == nil || account.contacts.exact != contacts.exact else { return }
        if account.url != nil { try await client.changeContacts(contacts) }
        try await change { state in
            state.account?.url = url
            state.account?.contacts = contacts
        }
    }

    fileprivate func change(_ change: @escaping @Sendable (inout ACMEState) -> Void) async throws {
        let (names, time) = (order.names, now())
        let changed = try await storage.update { state in
            change(&state)
            state.prune(names: names, now: time)
        }
        adopt(changed)
    }

    // MARK: The stage

    fileprivate func present(_ challenge: ACMEChallenge) async throws {
        let end = now() + 900
        try await change { state in
            state.pending.removeAll { $0.challenge.name.hasSameBytes(as: challenge.name) }
            state.pending.append(ACMEState.Pending(challenge: challenge, endsAt: end))
        }
        // Until the others have looked.
        if storage.isShared { try await Task.sleep(for: .seconds(2 * Self.interval)) }
    }

    fileprivate func withdraw(_ challenge: ACMEChallenge) async throws {
        try await change { $0.pending.removeAll { $0.challenge == challenge } }
    }

    fileprivate func renewLease() async throws {
        guard try await storage.lease(to: holder, seconds: Self.leaseLength) else { throw ACMEError.leaseLost }
    }
}

/// The gateway as an order sees it.
private struct OrderStage: ACMEStage {
    let service: CertificateService

    func present(_ challenge: ACMEChallenge) async throws { try await service.present(challenge) }
    func withdraw(_ challenge: ACMEChallenge) async throws { try await service.withdraw(challenge) }
    func goOn() async throws { try await service.renewLease() }
    func wait(_ seconds: Int64) async throws { try await Task.sleep(for: .seconds(seconds)) }
}
