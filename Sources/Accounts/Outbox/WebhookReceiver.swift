internal import Clocks
package import Cryptography
internal import Encoding
package import HTTPClient
package import Keys
internal import Pipeline
package import Store

/// A service that receives webhook events: its address, and the means by which it authenticates the gateway.
package struct WebhookReceiver: OutboxReceiver {
    package var name: String
    var url: String
    /// The `aud` of the assertion.
    var audience: String
    /// The key that authenticates the body (HMAC); nil: only the assertion does.
    var secret: Secret?
    package var timeout: Duration
    /// The `iss` of the assertion; nil if nothing is signed.
    var issuer: String?
    var header: String
    /// The keys that sign; nil if there are none.
    var keys: AssertionKeyService?
    var fetcher: any Fetcher
    /// Seconds since 1970. The receiver checks the assertion against its own clock, and the records' clock may differ
    /// from that.
    var now: @Sendable () -> Int64

    package init(
        name: String, url: String, audience: String, secret: Secret? = nil, timeout: Duration, issuer: String? = nil,
        header: String, keys: AssertionKeyService? = nil, fetcher: any Fetcher,
        now: @escaping @Sendable () -> Int64 = { WallClock.seconds() }
    ) {
        self.name = name
        self.url = url
        self.audience = audience
        self.secret = secret
        self.timeout = timeout
        self.issuer = issuer
        self.header = header
        self.keys = keys
        self.fetcher = fetcher
        self.now = now
    }

    /// Sends a message; returns once it is received, with any 2xx status.
    package func send(_ message: OutboxMessage) async throws(DeliveryFailure) {
        _ = try await ask(message, needsBody: false)
    }

    /// As ``send(_:)``.
    ///
    /// - Parameter needsBody: whether the response's content is needed: a body of more than 64 KiB is then a failure.
    package func ask(
        _ message: OutboxMessage, needsBody: Bool
    ) async throws(DeliveryFailure) -> FetchResponse {
        let body = Array(message.body.utf8)
        var headers = [
            (name: "Content-Type", value: "application/json"), (name: "Idempotency-Key", value: message.key),
            (name: "User-Agent", value: "Gatehouse"),
        ]
        if let issuer, let keys = keys?.current {
            let event = WebhookEvent(
                issuer: issuer, audience: audience, subject: message.subject, event: message.kind, key: message.key,
                body: body)
            guard let token = try? event.token(signedWith: keys.signing, now: now()) else { throw .notSigned }
            headers.append((header, token))
        }
        if let secret {
            let code = HMACSHA256.authenticationCode(for: body, key: secret.expose())
            headers.append(("X-Gatehouse-Signature", "sha256=" + Hexadecimal.encode(code)))
        }
        let request = FetchRequest(
            method: "POST", url: url, headers: headers, body: body, deadline: timeout, maximumResponseBytes: 64 << 10,
            needsWholeBody: needsBody, hasSecretPath: true)
        let response: FetchResponse
        do {
            response = try await fetcher.fetch(request)
        } catch {
            throw .noAnswer(error)
        }
        guard (200..<300).contains(response.status) else { throw .status(response.status) }
        return response
    }
}

/// The reason why a message was not received. It contains nothing of the message.
package enum DeliveryFailure: Error, Equatable, CustomStringConvertible {
    case status(Int)
    case noAnswer(FetchError)
    case notSigned
    /// Received, but the response lacks the required content.
    case unusable(String)
    /// The receiver's own name of the error.
    case refused(String)

    package var description: String {
        switch self {
        case .status(let status): "status \(status)"
        case .noAnswer(let error): "\(error)"
        case .notSigned: "cannot be signed"
        case .unusable(let what): "unusable response: \(what)"
        case .refused(let name): name
        }
    }
}
