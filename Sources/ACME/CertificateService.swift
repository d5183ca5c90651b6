package import Cryptography
internal import Encoding
package import HTTPClient
internal import Locking
package import Logging

/// Obtains certificates and renews them, for as long as the gateway runs.
///
/// Gateways can share the stored state. The holder of the lease orders certificates. All gateways answer challenges and
/// serve the certificates.
package final class CertificateService: Sendable {
    struct State {
        /// The stored state, without certificates that cannot be served.
        var known = ACMEState()
        /// Certificates that are no longer stored. They are served while valid.
        var remaining: [ObtainedCertificate] = []
        /// The stored certificates that have been checked, and those of them that cannot be served.
        var judged: [ObtainedCertificate] = []
        var refused: [ObtainedCertificate] = []
        /// Nil before the first publication.
        var published: [ACMEChallenge]?
        /// The error of the storage, and since when it has lasted.
        var error: String?
        var failingSince: Int64?
        /// The number of consecutive rounds of orders that could not be stored, and until when ordering is paused
        /// because of that: otherwise an order whose result cannot be stored would be repeated endlessly.
        var storageFailures: Int64 = 0
        var pausesUntil: Int64 = 0
        var obtained: Int64 = 0
        var failed: Int64 = 0

        mutating func storageWorks() { (error, failingSince, storageFailures) = (nil, nil, 0) }

        /// Returns the certificate served for a name.
        func certificate(of name: String) -> ObtainedCertificate? {
            known.certificate(of: name) ?? remaining.first { $0.name.hasSameBytes(as: name) }
        }
    }

    package let settings: CertificateSettings
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
    ///   - publish: receives all challenges to be answered, whenever they change.
    package init(
        _ settings: CertificateSettings, storage: any ACMEStorage, fetcher: any Fetcher, logger: Logger,
        now: @escaping @Sendable () -> Int64,
        canServe: @escaping @Sendable (_ chain: [UInt8], _ key: Secret) -> Bool,
        publish: @escaping @Sendable ([ACMEChallenge]) -> Void
    ) {
        self.settings = settings
        self.storage = storage
        self.fetcher = fetcher
        self.logger = logger
        self.now = now
        self.canServe = canServe
        self.publish = publish
    }

    // MARK: For others

    /// The available certificates, in the order of the configured names.
    package var certificates: [ObtainedCertificate] {
        let state = state.withLock { $0 }
        return settings.names.compactMap { state.certificate(of: $0) }
    }

    package var statuses: [CertificateStatus] {
        let state = state.withLock { $0 }
        let time = now()
        return settings.names.map { name in
            let (certificate, failure) = (state.certificate(of: name), state.known.failure(of: name))
            let dueAt = RenewalSchedule.dueAt(
                name, state.known.certificate(of: name), failure, directory: settings.directory, now: time)
            let nextAt = max(dueAt, RenewalSchedule.pauseEnds(state.pausesUntil, now: time))
            return CertificateStatus(
                name: name, obtainedAt: certificate?.obtainedAt,
                expiresAt: certificate?.expiresAt,
                nextAttemptAt: nextAt > 0 ? nextAt : nil, failures: failure?.count ?? 0,
                error: failure?.error ?? state.error, failingSince: failure?.since ?? state.failingSince)
        }
    }

    /// The numbers of this process's successful and failed orders.
    package var tally: (obtained: Int64, failed: Int64) { state.withLock { ($0.obtained, $0.failed) } }

    /// Reads the state before the gateway serves.
    ///
    /// - Parameter served: the certificates served by the service before a reload.
    package func prepare(serving served: [ObtainedCertificate] = []) async throws {
        state.withLock { $0.remaining = served }
        try await storage.reseal()
        adopt(try await storage.read())
    }

    func adopt(_ read: ACMEState) {
        var usable = read
        let refused = unusable(of: read.certificates)
        if !refused.isEmpty { usable.certificates.removeAll { refused.contains($0) } }
        let (known, names, time) = (usable, settings.names, now())
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

    /// Returns the stored certificates that this gateway's TLS refuses. A listener could not start with one of them.
    /// Each is checked and logged once.
    private func unusable(of stored: [ObtainedCertificate]) -> [ObtainedCertificate] {
        let before = state.withLock { $0 }
        guard before.judged != stored else { return before.refused }
        let refused = stored.filter { certificate in
            guard settings.names.contains(where: { $0.hasSameBytes(as: certificate.name) }) else { return false }
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

    /// Publishes the pending challenges if they have changed, possibly because some have expired.
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

    /// Seconds between two readings of the stored state, which other gateways may have changed.
    static let interval: Int64 = 2
    /// The duration of the lease, in seconds. It is renewed before each request of an order.
    static let leaseLength: Int64 = 60

    /// Runs until cancelled.
    package func run() async {
        while !Task.isCancelled {
            await look()
            do { try await Task.sleep(for: .seconds(Self.interval)) } catch { return }
        }
    }

    func look() async {
        do {
            // Another writer may have changed the state: a gateway, the service before a reload, an operator.
            adopt(try await storage.read())
            // If nothing is due, another gateway has stored a certificate, or none is needed.
            guard !due().isEmpty else { return state.withLock { $0.storageWorks() } }
            guard !isPaused else { return }
            let isLeased = try await storage.lease(to: holder, seconds: Self.leaseLength)
            // The lease could be stored. That does not prove that an order's result can be.
            state.withLock { if $0.storageFailures == 0 { $0.storageWorks() } }
            guard isLeased else { return }
            await takeTurn()
            // A separate task, so that a cancelled service ends the lease too.
            try await Task { try await storage.endLease(of: holder) }.value
        } catch {
            // Nothing was ordered, or everything is stored.
            note(storageError: error, pauses: false)
        }
    }

    private func takeTurn() async {
        do {
            // The previous holder of the lease may have stored a certificate meanwhile.
            adopt(try await storage.read())
        } catch {
            return note(storageError: error, pauses: false)
        }
        let failures = state.withLock { $0.storageFailures }
        await orderAll()
        // Neither the lease nor a reading proves that results can be stored; a round without storage failures does.
        state.withLock { if $0.storageFailures == failures { $0.storageWorks() } }
    }

    /// Logs the error once while it stays the same.
    ///
    /// - Parameter pauses: whether ordering is paused.
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
        return RenewalSchedule.due(settings.names, in: known, directory: settings.directory, now: time)
    }
}
