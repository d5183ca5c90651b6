internal import Cryptography
internal import Encoding
internal import HTTPClient
internal import Locking
internal import Logging

/// A round of orders, made by the gateway that holds the lease.
extension CertificateService {
    /// Orders certificates for all names that are due, one after another.
    func orderAll() async {
        guard let client = await client() else { return }
        let names = due()
        guard let first = names.first, await signUp(client, for: first) else { return }
        for name in names {
            if Task.isCancelled { return }
            if await !obtain(name, client) { return }
        }
    }

    /// - Returns: whether to continue with other names.
    private func obtain(_ name: String, _ client: ACMEClient) async -> Bool {
        logger.info("ordering a certificate", metadata: ["name": "\(name)"])
        do {
            let (time, state) = (now(), state.withLock { $0 })
            let issuance = ACMEIssuance(
                client: client, delegate: IssuanceDelegate(service: self, name: name), name: name,
                challenge: settings.challenge,
                left: state.known.submittedOrder(name, directory: settings.directory, now: time),
                replacesValid: state.certificate(of: name)?.isValid(at: time) ?? false, now: now, canServe: canServe)
            let issued = try await issuance.run()
            let certificate = ObtainedCertificate(
                name: name, directory: settings.directory, chain: issued.chain, key: issued.key, obtainedAt: now())
            try await change { $0.keep(certificate) }
            self.state.withLock { $0.obtained += 1 }
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
    /// - Returns: whether to continue with other names.
    private func failed(_ name: String, _ error: any Error, isOfAccount: Bool) async -> Bool {
        guard let error = error as? ACMEError else {
            note(storageError: error)
            return false
        }
        // The other gateway records the result.
        guard error != .leaseLost else { return false }
        let (names, time) = (due(), now())
        state.withLock { $0.failed += 1 }
        do {
            try await change { state in
                let failures = RenewalSchedule.failures(
                    after: error, of: name, among: names, in: state, isOfAccount: isOfAccount, at: time)
                for failure in failures { state.keep(failure) }
                if RenewalSchedule.endsAccount(error) { state.account?.url = nil }
                if error.endsOrder, !isOfAccount { state.removeSubmittedOrder(name) }
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

    /// Returns a client with the account's key, which is created and stored before the directory sees it.
    private func client() async -> ACMEClient? {
        do {
            let directory = settings.directory
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

    /// Makes sure that the directory can be used and that there is an account. Any error of theirs ends the round.
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
        let contacts = settings.contacts
        let url = try await client.useAccount(account.url, contacts: contacts)
        guard account.url == nil || account.contacts.exact != contacts.exact else { return }
        if account.url != nil { try await client.changeContacts(contacts) }
        try await change { state in
            state.account?.url = url
            state.account?.contacts = contacts
        }
    }

    fileprivate func change(_ change: @escaping @Sendable (inout ACMEState) -> Void) async throws {
        let (names, time) = (settings.names, now())
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
        // Waits until the other gateways have read the challenge.
        if storage.isShared { try await Task.sleep(for: .seconds(2 * Self.interval)) }
    }

    fileprivate func withdraw(_ challenge: ACMEChallenge) async throws {
        // A separate task, so that a cancelled order withdraws its challenge too.
        try await Task { try await change { $0.pending.removeAll { $0.challenge == challenge } } }.value
    }

    fileprivate func storeOrder(_ url: String, _ key: Secret, of name: String) async throws {
        let order = ACMEState.SubmittedOrder(
            name: name, directory: settings.directory, url: url, key: key, storedAt: now())
        try await change { $0.keep(order) }
    }

    fileprivate func renewLease() async throws {
        guard try await storage.lease(to: holder, seconds: Self.leaseLength) else { throw ACMEError.leaseLost }
    }
}

/// The gateway as seen by an order.
private struct IssuanceDelegate: ACMEIssuanceDelegate {
    let service: CertificateService
    let name: String

    func present(_ challenge: ACMEChallenge) async throws { try await service.present(challenge) }
    func withdraw(_ challenge: ACMEChallenge) async throws { try await service.withdraw(challenge) }
    func storeOrder(_ url: String, _ key: Secret) async throws { try await service.storeOrder(url, key, of: name) }
    func renewLease() async throws { try await service.renewLease() }
    func wait(_ seconds: Int64) async throws { try await Task.sleep(for: .seconds(seconds)) }
}
