internal import Cryptography
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
    /// When the next attempt is made; seconds since 1970. Nil where no time is known.
    package let nextAt: Int64?
}

/// Obtains certificates and renews them, for as long as the gateway runs.
///
/// All that it knows is in the state: where several gateways share that, one of them orders, all answer the challenge,
/// and all use the certificate.
package final class CertificateService: Sendable {
    private struct State {
        var known = ACMEState()
        /// Nil before the state was read.
        var isRead = false
        var error: String?
        /// How often in a row the state could not be used, and until when nothing is ordered for that: an order whose
        /// end cannot be stored would be made again and again.
        var storageFailures: Int64 = 0
        var pausesUntil: Int64 = 0
        var obtained: Int64 = 0
        var failed: Int64 = 0
    }

    package let order: CertificateOrder
    private let storage: any ACMEStorage
    private let fetcher: any Fetcher
    private let publish: @Sendable ([ACMEChallenge]) -> Void
    private let logger: Logger
    private let now: @Sendable () -> Int64
    private let holder = Hexadecimal.encode(SecureRandom.bytes(16))
    private let state = Locked(State())

    /// - Parameters:
    ///   - publish: gets all challenges that are to be answered, whenever they change.
    ///   - now: seconds since 1970.
    package init(
        _ order: CertificateOrder, storage: any ACMEStorage, fetcher: any Fetcher, logger: Logger,
        now: @escaping @Sendable () -> Int64, publish: @escaping @Sendable ([ACMEChallenge]) -> Void
    ) {
        self.order = order
        self.storage = storage
        self.fetcher = fetcher
        self.logger = logger
        self.now = now
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
                error: failure?.error ?? state.error,
                nextAt: state.isRead ? dueAt(name, state.known) : nil)
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
        let time = now()
        let before = state.withLock { state in
            defer { (state.known, state.isRead, state.error) = (read, true, nil) }
            return state.isRead ? state.known.pending : nil
        }
        guard before != read.pending else { return }
        publish(read.pending.filter { $0.endsAt > time }.map(\.challenge))
    }

    // MARK: Work

    /// Between two looks at what other gateways have stored, and at the clock.
    private static let interval: Int64 = 2
    /// Of the lease, in seconds, and between two renewals.
    static let leaseLength: Int64 = 60
    private static let leaseRenewal: Int64 = 15

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
            guard !due().isEmpty, state.withLock({ $0.pausesUntil }) <= now() else { return }
            guard try await storage.lease(to: holder, seconds: Self.leaseLength) else { return }
            if storage.isShared { adopt(try await storage.read()) }
            await orderAll()
            try await storage.endLease(of: holder)
        } catch {
            note(storageError: error)
        }
    }

    /// Logs it once for as long as it lasts.
    private func note(storageError error: any Error) {
        guard !Task.isCancelled else { return }
        let (text, time) = ("\(error)", now())
        let isNews = state.withLock { state in
            defer { state.error = text }
            state.storageFailures += 1
            state.pausesUntil = time + RenewalSchedule.pause(afterStorageFailures: state.storageFailures)
            return state.error == nil
        }
        if isNews { logger.error("the state of certificates cannot be used", metadata: ["error": "\(text)"]) }
    }

    private func due() -> [String] {
        let (known, time) = (state.withLock { $0.known }, now())
        return order.names.filter { dueAt($0, known) <= time }
    }

    private func dueAt(_ name: String, _ known: ACMEState) -> Int64 {
        RenewalSchedule.dueAt(name, known.certificate(of: name), known.failure(of: name))
    }

    private func orderAll() async {
        guard let client = await client() else { return }
        for name in due() {
            if Task.isCancelled { return }
            if await !obtain(name, client) { return }
        }
    }

    /// - Returns: whether to go on with other names.
    private func obtain(_ name: String, _ client: ACMEClient) async -> Bool {
        logger.info("ordering a certificate", metadata: ["name": "\(name)"])
        do {
            try await signUp(client)
            let issuance = ACMEIssuance(
                client: client, stage: OrderStage(service: self), name: name, challenge: order.challenge, now: now)
            let issued = try await issuance.run()
            let certificate = ObtainedCertificate(
                name: name, chain: issued.chain, key: issued.key, obtainedAt: now())
            try await change { $0.keep(certificate) }
            state.withLock { state in
                state.obtained += 1
                state.storageFailures = 0
            }
            logger.notice(
                "certificate obtained",
                metadata: ["name": "\(name)", "expires_at": "\(issued.certificate.notAfter)"])
            return true
        } catch {
            if Task.isCancelled { return false }
            return await failed(name, error)
        }
    }

    private func failed(_ name: String, _ error: any Error) async -> Bool {
        guard let error = error as? ACMEError else {
            note(storageError: error)
            return false
        }
        // The other gateway says how it ended.
        guard error != .leaseLost else { return false }
        let names = RenewalSchedule.concernsAll(error) ? due() : [name]
        let time = now()
        state.withLock { $0.failed += 1 }
        do {
            try await change { state in
                for name in names {
                    let count = (state.failure(of: name)?.count ?? 0) + 1
                    state.keep(
                        ACMEState.Failure(
                            name: name, count: count, nextAt: time + RenewalSchedule.wait(after: error, count: count),
                            lastAt: time, error: "\(error)"))
                }
                if RenewalSchedule.endsAccount(error) { state.account?.url = nil }
            }
        } catch {
            note(storageError: error)
            return false
        }
        let next = state.withLock { $0.known }.failure(of: name)?.nextAt ?? time
        logger.error(
            "no certificate obtained",
            metadata: ["name": "\(name)", "error": "\(error)", "next_attempt_seconds": "\(next - time)"])
        return !RenewalSchedule.concernsAll(error)
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

    fileprivate func change(_ change: @Sendable (inout ACMEState) -> Void) async throws {
        adopt(try await storage.update(change))
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
