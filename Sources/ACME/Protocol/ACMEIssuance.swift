package import Cryptography
internal import Encoding
internal import Pipeline

/// A method of proving that the gateway serves a name.
package enum ACMEChallengeType: String, Sendable, CaseIterable {
    /// A text at a path on port 80 (RFC 8555, 8.3).
    case http = "http-01"
    /// A certificate in a TLS handshake on port 443 (RFC 8737).
    case tlsALPN = "tls-alpn-01"
}

/// A challenge that the directory may check now.
package struct ACMEChallenge: Sendable, Equatable {
    package let type: ACMEChallengeType
    package let name: String
    package let token: String
    package let keyAuthorization: String

    package init(type: ACMEChallengeType, name: String, token: String, keyAuthorization: String) {
        self.type = type
        self.name = name
        self.token = token
        self.keyAuthorization = keyAuthorization
    }

    /// The certificate for the handshake (RFC 8737, 3), with the digest of the key authorization. Each gateway creates
    /// its own. Nil if OpenSSL fails.
    package var certificate: (chain: [UInt8], key: Secret)? {
        let digest = SHA256.hash(Array(keyAuthorization.utf8))
        guard let key = try? P256SigningKey.generate(), let pem = try? key.privateKeyPEM(),
            let chain = try? key.challengeCertificate(for: name, digest: digest)
        else { return nil }
        return (chain, pem)
    }
}

/// The gateway's functions used by an order.
protocol ACMEIssuanceDelegate: Sendable {
    /// Returns when every gateway answers the challenge.
    func present(_ challenge: ACMEChallenge) async throws
    func withdraw(_ challenge: ACMEChallenge) async throws
    /// Stores an order before the directory is asked to finalize it.
    ///
    /// - Parameters:
    ///   - url: the order's URL.
    ///   - key: the certificate's key, in PEM.
    func storeOrder(_ url: String, _ key: Secret) async throws
    /// Called between requests.
    ///
    /// - Throws: ``ACMEError/leaseLost`` if another gateway has taken over the order.
    func renewLease() async throws
    func wait(_ seconds: Int64) async throws
}

/// The issuance of one certificate, from the order to the download (RFC 8555, 7.4 and 7.5).
struct ACMEIssuance: Sendable {
    let client: ACMEClient
    let delegate: any ACMEIssuanceDelegate
    let name: String
    let challenge: ACMEChallengeType
    /// An earlier order whose result is unknown; nil if there is none.
    let left: ACMEState.SubmittedOrder?
    /// Whether the name has a certificate that is currently valid.
    let replacesValid: Bool
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    /// Whether listeners can use a chain, in PEM, with its key.
    let canServe: @Sendable (_ chain: [UInt8], _ key: Secret) -> Bool

    /// The maximum size of a chain, in bytes and certificates.
    private static let longestChain = 1 << 15
    private static let mostCertificates = 10
    /// How far the start of a certificate's validity may be ahead of this clock, in seconds: if the certificate
    /// replaces a valid one, only the usual difference between clocks.
    private var clockDifference: Int64 { replacesValid ? 300 : 86_400 }

    /// In seconds: the longest wait before a state is polled again, and the total time of polling.
    private static let longestWait: Int64 = 30
    private static let longestPolling: Int64 = 300

    struct Issued {
        let chain: [UInt8]
        let key: Secret
        let certificate: ServerCertificate
    }

    func run() async throws -> Issued {
        try await delegate.renewLease()
        if let left, let issued = try await finish(left) { return issued }
        var (order, url) = try await client.newOrder(for: name)
        if order.status == .pending {
            for authorization in order.authorizations { try await authorize(authorization) }
            order = try await poll(url, until: { $0.status != .pending }, "the order")
        }
        guard order.status == .ready else { throw Self.end(order) }
        let key = try cryptographically("key") { () throws(CryptographyError) in try P256SigningKey.generate() }
        try await delegate.storeOrder(url, pem(of: key))
        return try await obtain(order, url, key)
    }

    /// Resumes an earlier order. The gateway that finalized it may have ended since.
    ///
    /// - Returns: nil if the directory no longer has the order, or the order cannot succeed.
    private func finish(_ left: ACMEState.SubmittedOrder) async throws -> Issued? {
        guard let key = try? P256SigningKey(pem: left.key) else { return nil }
        let order: ACMEOrder
        do throws(ACMEError) {
            order = try ACMEOrder(await client.get(left.url).json(), origin: client.origin)
        } catch {
            guard error.endsOrder, !RenewalSchedule.endsAccount(error) else { throw error }
            return nil
        }
        switch order.status {
        case .ready, .processing, .valid: return try await obtain(order, left.url, key)
        case .pending, .invalid: return nil
        }
    }

    /// Obtains the certificate of an order that is ready or was finalized.
    private func obtain(_ order: ACMEOrder, _ url: String, _ key: P256SigningKey) async throws -> Issued {
        let request = try cryptographically("certificate request") { () throws(CryptographyError) in
            try key.certificateRequest(for: name)
        }
        let began = now()
        let order = try await finalize(order, url, request, at: began)
        guard order.status == .valid, let certificate = order.certificate else { throw Self.end(order) }
        return try await download(certificate, key, finalizedAt: began)
    }

    private func pem(of key: P256SigningKey) throws(ACMEError) -> Secret {
        try cryptographically("PEM") { () throws(CryptographyError) in try key.privateKeyPEM() }
    }

    private static func end(_ order: ACMEOrder) -> ACMEError {
        order.problem.map(ACMEError.refused) ?? .malformed("the order ended as \(order.status)")
    }

    /// Finalizes the order and polls it until it is complete. A request whose response was lost may have arrived, which
    /// the order's state shows.
    private func finalize(
        _ order: ACMEOrder, _ url: String, _ request: [UInt8], at time: Int64
    ) async throws -> ACMEOrder {
        var (sends, isLost) = (order.status == .ready, false)
        return try await polling("the order", finalizedAt: time) {
            let response: ACMEClient.Response
            if sends {
                (sends, isLost) = (false, true)
                response = try await client.post(order.finalize, ["csr": .string(Base64URL.encode(request))])
                isLost = false
            } else {
                response = try await client.get(url)
            }
            let found = try ACMEOrder(response.json(), origin: client.origin)
            sends = isLost && found.status == .ready
            let isOver = found.status == .valid || found.status == .invalid
            return (isOver ? found : nil, response.retryAfter(now: now()))
        }
    }

    private func download(_ url: String, _ key: P256SigningKey, finalizedAt time: Int64) async throws -> Issued {
        let chain: [UInt8] = try await polling("the certificate", finalizedAt: time) {
            let response = try await client.get(url)
            return (response.body, nil)
        }
        guard chain.count <= Self.longestChain else { throw ACMEError.malformed("the chain is too long") }
        let pem = try pem(of: key)
        guard let certificate = ServerCertificate(chain: chain, for: name), PEMFile.isKey(pem, of: chain) == true else {
            throw ACMEError.malformed("the certificate is not of the key that was sent")
        }
        guard certificate.chainLength <= Self.mostCertificates else {
            throw ACMEError.malformed("the chain has too many certificates")
        }
        guard certificate.isForName else { throw ACMEError.malformed("the certificate is for another name") }
        guard certificate.notAfter > now() else {
            throw ACMEError.malformed("a certificate of the chain has expired")
        }
        guard certificate.notBefore <= now() + clockDifference else {
            throw ACMEError.malformed("the certificate is not valid yet")
        }
        guard canServe(chain, pem) else { throw ACMEError.malformed("the certificate cannot be used for TLS") }
        return Issued(chain: chain, key: pem, certificate: certificate)
    }

    // MARK: Authorization

    private func authorize(_ url: String) async throws {
        let authorization = try await self.authorization(url)
        // An authorization from an earlier order may be reused.
        if authorization.status == .valid { return }
        guard authorization.name.asciiLowercased.hasSameBytes(as: name) else {
            throw ACMEError.malformed("an authorization of another name")
        }
        guard authorization.status == .pending else { throw Self.refusal(authorization) }
        guard let offered = authorization.challenges.first(where: { $0.type.hasSameBytes(as: challenge.rawValue) })
        else {
            throw ACMEError.malformed("the directory does not offer \(challenge.rawValue)")
        }
        let answer = ACMEChallenge(
            type: challenge, name: name, token: offered.token,
            keyAuthorization: JSONWebSignature.keyAuthorization(offered.token, client.key))
        do {
            try await delegate.present(answer)
            try await delegate.renewLease()
            _ = try await client.post(offered.url, .object([:]))
            try await awaitValidation(url)
        } catch ACMEError.leaseLost {
            // The new holder of the lease may be presenting the same challenge.
            throw ACMEError.leaseLost
        } catch {
            try await delegate.withdraw(answer)
            throw error
        }
        try await delegate.withdraw(answer)
    }

    private func awaitValidation(_ url: String) async throws {
        try await polling("the validation") {
            let response = try await client.get(url)
            let authorization = try ACMEAuthorization(response.json(), origin: client.origin)
            switch authorization.status {
            case .valid: return (true, nil)
            case .pending: return (nil, response.retryAfter(now: now()))
            case .invalid, .deactivated, .expired, .revoked: throw Self.refusal(authorization)
            }
        }
    }

    private static func refusal(_ authorization: ACMEAuthorization) -> ACMEError {
        authorization.problem.map(ACMEError.notValidated)
            ?? .malformed("the authorization is \(authorization.status.rawValue)")
    }

    private func authorization(_ url: String) async throws -> ACMEAuthorization {
        try await delegate.renewLease()
        return try ACMEAuthorization(await client.get(url).json(), origin: client.origin)
    }

    // MARK: Polling

    private func poll(
        _ url: String, until isDone: (ACMEOrder) -> Bool, _ what: String
    ) async throws -> ACMEOrder {
        try await polling(what) {
            let response = try await client.get(url)
            let order = try ACMEOrder(response.json(), origin: client.origin)
            return (isDone(order) ? order : nil, response.retryAfter(now: now()))
        }
    }

    /// Polls for a limited time, no more often than the directory requests.
    ///
    /// - Parameter time: when the order was finalized; nil before that. From then on the directory may have issued the
    ///   certificate, and it limits certificates for a name: temporary errors therefore do not end the order. The time
    ///   limit starts then.
    @discardableResult
    private func polling<Value>(
        _ what: String, finalizedAt time: Int64? = nil, _ ask: () async throws -> (Value?, retryAfter: Int64?)
    ) async throws -> Value {
        let began = time ?? now()
        var (polls, waited): (Int64, Int64) = (0, 0)
        var failure: ACMEError?
        while true {
            try await delegate.renewLease()
            var wanted: Int64?
            do {
                let (value, retryAfter) = try await ask()
                if let value { return value }
                (failure, wanted) = (nil, retryAfter)
            } catch let error as ACMEError {
                switch error {
                case .unreachable(_, let retryAfter) where time != nil: wanted = retryAfter
                case .rateLimited(_, let retryAfter) where time != nil: wanted = retryAfter
                // The earlier request, whose response was lost, has arrived after all.
                case .refused(let problem) where time != nil && problem.isOf("orderNotReady"): break
                default: throw error
                }
                failure = error
            }
            let wait = min(max(wanted ?? 0, 1 + polls / 5), Self.longestWait)
            (polls, waited) = (polls + 1, waited + wait)
            guard max(waited, now() - began + wait) <= Self.longestPolling else { break }
            try await delegate.wait(wait)
        }
        if case .unreachable(let reason, let retryAfter)? = failure {
            throw ACMEError.notDelivered(reason, retryAfter: retryAfter)
        }
        throw failure ?? ACMEError.tookTooLong(what)
    }

    private func cryptographically<Value>(
        _ step: String, _ body: () throws(CryptographyError) -> Value
    ) throws(ACMEError) -> Value {
        do throws(CryptographyError) { return try body() } catch { throw .cryptography(step) }
    }
}
