package import Cryptography
internal import Encoding
package import HTTPClient
internal import Locking
package import Logging

/// Obtains certificates and renews them, for as long as the gateway runs.
///
/// All that it knows is in the state: where several gateways share that, one of them orders, all answer the challenge,
/// and all use the certificate.
package final class CertificateService: Sendable {
    struct State {
        /// The state that is stored, without the certificates that cannot be served.
        var known = ACMEState()
        /// Certificates of names that the stored state has none of any more. They serve while they are valid.
        var remaining: [ObtainedCertificate] = []
        /// The stored certificates that were judged, and of these the ones that cannot be served.
        var judged: [ObtainedCertificate] = []
        var refused: [ObtainedCertificate] = []
        /// Nil before the first.
        var published: [ACMEChallenge]?
        /// Why the storage cannot be used, and since when that is so.
        var error: String?
        var failingSince: Int64?
        /// How many rounds of orders in a row could not be stored, and until when nothing is ordered for that: an
        /// order whose end cannot be stored would be made again and again.
        var storageFailures: Int64 = 0
        var pausesUntil: Int64 = 0
        var obtained: Int64 = 0
        var failed: Int64 = 0

        mutating func storageWorks() { (error, failingSince, storageFailures) = (nil, nil, 0) }

        /// The one that serves a name.
        func certificate(of name: String) -> ObtainedCertificate? {
            known.certificate(of: name) ?? remaining.first { $0.name.hasSameBytes(as: name) }
        }
    }

    package let order: CertificateOrder
    let storage: any ACMEStorage
    let fetcher: any Fetcher
    let canServe: @Sendable (_ chain: [UInt8], _ key: Secret) -> Bool
    private let publish: @Sendable ([ACMEChallenge]) -> Void
    let logger: Logger
    let now: @Sendable () -> Int64
    let holder = Hexadecimal.encode(SecureRandom.bytes(16))
    let state = Locked(State())

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
        let state = state.withLock { $0 }
        return order.names.compactMap { state.certificate(of: $0) }
    }

    package var standings: [CertificateStanding] {
        let state = state.withLock { $0 }
        let time = now()
        return order.names.map { name in
            let (certificate, failure) = (state.certificate(of: name), state.known.failure(of: name))
            let dueAt = RenewalSchedule.dueAt(
                name, state.known.certificate(of: name), failure, directory: order.directory, now: time)
            let nextAt = max(dueAt, RenewalSchedule.pauseEnds(state.pausesUntil, now: time))
            return CertificateStanding(
                name: name, obtainedAt: certificate?.obtainedAt,
                expiresAt: certificate?.expiresAt,
                nextAttemptAt: nextAt > 0 ? nextAt : nil, failures: failure?.count ?? 0,
                error: failure?.error ?? state.error, failingSince: failure?.since ?? state.failingSince)
        }
    }

    /// How many orders of this process have succeeded and failed.
    package var tally: (obtained: Int64, failed: Int64) { state.withLock { ($0.obtained, $0.failed) } }

    /// Reads the state before the gateway serves.
    ///
    /// - Parameter served: what the service before a reload serves.
    package func prepare(serving served: [ObtainedCertificate] = []) async throws {
        state.withLock { $0.remaining = served }
        try await storage.reseal()
        adopt(try await storage.read())
    }

    func adopt(_ read: ACMEState) {
        var usable = read
        let refused = unusable(of: read.certificates)
        if !refused.isEmpty { usable.certificates.removeAll { refused.contains($0) } }
        let (known, names, time) = (usable, order.names, now())
        let lost: [String] = state.withLock { state in
            let before = names.compactMap { state.certificate(of: $0) }
            let missing = before.filter { known.certificate(of: $0.name) == nil }
            state.known = known
            state.remaining = missing.filter { $0.expiresAt > time }
            return missing.filter { $0.expiresAt <= time }.map(\.name)
        }
        for name in lost {
            logger.error(
                "the certificate of a name has expired, and is neither stored nor served any more",
                metadata: ["name": "\(name)"])
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
    static let interval: Int64 = 2
    /// Of the lease, in seconds. It is renewed before each request of an order.
    static let leaseLength: Int64 = 60

    /// Until cancelled.
    package func run() async {
        while !Task.isCancelled {
            await look()
            do { try await Task.sleep(for: .seconds(Self.interval)) } catch { return }
        }
    }

    func look() async {
        do {
            // Others may have stored another one: gateways, the service that a reload has replaced, an operator.
            adopt(try await storage.read())
            // Where nothing is due, others have stored it, or nothing has to be.
            guard !due().isEmpty else { return state.withLock { $0.storageWorks() } }
            guard !isPaused else { return }
            let isLeased = try await storage.lease(to: holder, seconds: Self.leaseLength)
            // The lease can be stored. That says nothing about the end of an order.
            state.withLock { if $0.storageFailures == 0 { $0.storageWorks() } }
            guard isLeased else { return }
            await takeTurn()
            // In a task of its own: a service that is cancelled ends it all the same.
            try await Task { try await storage.endLease(of: holder) }.value
        } catch {
            // Nothing was ordered, or all of it is stored.
            note(storageError: error, pauses: false)
        }
    }

    private func takeTurn() async {
        do {
            // The gateway that had the lease before may have stored a certificate since.
            adopt(try await storage.read())
        } catch {
            return note(storageError: error, pauses: false)
        }
        let failures = state.withLock { $0.storageFailures }
        await orderAll()
        // A lease says as little about it as reading does.
        state.withLock { if $0.storageFailures == failures { $0.storageWorks() } }
    }

    /// Logs it once for as long as it stays the same.
    ///
    /// - Parameter pauses: whether nothing is ordered for a while.
    func note(storageError error: any Error, pauses: Bool = true) {
        guard !Task.isCancelled else { return }
        let (text, time) = ("\(error)", now())
        let isNews = state.withLock { state in
            defer { (state.error, state.failingSince) = (text, state.failingSince ?? time) }
            if pauses {
                state.storageFailures += 1
                state.pausesUntil = time + RenewalSchedule.pause(afterStorageFailures: state.storageFailures)
            }
            return state.error?.hasSameBytes(as: text) != true
        }
        if isNews { logger.error("the state of certificates cannot be used", metadata: ["error": "\(text)"]) }
    }

    private var isPaused: Bool {
        let time = now()
        return RenewalSchedule.pauseEnds(state.withLock { $0.pausesUntil }, now: time) > time
    }

    func due() -> [String] {
        let (known, time) = (state.withLock { $0.known }, now())
        return RenewalSchedule.due(order.names, in: known, directory: order.directory, now: time)
    }
}
