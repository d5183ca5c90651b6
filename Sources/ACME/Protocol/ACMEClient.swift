package import Cryptography
internal import Encoding
package import HTTPClient
internal import Pipeline

/// The client of one directory and one account: signed requests, nonces and errors (RFC 8555, 6).
package actor ACMEClient {
    struct Response {
        let headers: FetchResponse
        let status: Int

        var body: [UInt8] { headers.body }

        func json() throws(ACMEError) -> JSON {
            guard let json = try? JSON.parse(body, limits: JSONLimits(maximumBytes: ACMEClient.longestBody)) else {
                throw .malformed("no JSON")
            }
            return json
        }

        /// The requested delay in seconds; nil if there is none.
        func retryAfter(now: Int64) -> Int64? {
            guard let text = headers.header("retry-after") else { return nil }
            if let seconds = Int64(text) { return max(0, seconds) }
            return HTTPDate.seconds(text).map { max(0, $0 - now) }
        }
    }

    static let longestBody = 1 << 17
    private static let patience = Duration.seconds(15)
    /// The maximum number of attempts to sign a request because of its nonce. A directory may refuse any nonce.
    private static let tries = 10

    private let fetcher: any Fetcher
    private let directoryURL: String
    nonisolated let origin: ACMEOrigin
    nonisolated let key: P256SigningKey
    private let now: @Sendable () -> Int64
    private var directory: ACMEDirectory?
    private var nonce: String?
    /// The URL of the account, which identifies the signer once it is known.
    private var account: String?

    /// - Parameters:
    ///   - directory: an https URL.
    ///   - key: the account's key.
    ///   - now: seconds since 1970.
    package init(directory: String, key: P256SigningKey, fetcher: any Fetcher, now: @escaping @Sendable () -> Int64) {
        directoryURL = directory
        origin = ACMEOrigin(ofDirectory: directory)
        self.key = key
        self.fetcher = fetcher
        self.now = now
    }

    /// Makes sure that there is an account, and uses it.
    ///
    /// - Parameters:
    ///   - known: the stored URL of the account; used until the directory rejects it.
    ///   - contacts: e-mail addresses.
    /// - Returns: the account's URL.
    func useAccount(_ known: String?, contacts: [String]) async throws(ACMEError) -> String {
        if let known {
            account = try origin.url(known, "account")
            return known
        }
        account = nil
        let directory = try await currentDirectory()
        guard !directory.needsExternalAccount else {
            throw .malformed("accounts there need credentials of an external account, which Gatehouse does not have")
        }
        var request: JSONObject = ["termsOfServiceAgreed": .bool(true)]
        if !contacts.isEmpty { request["contact"] = .array(contacts.map { .string("mailto:\($0)") }) }
        let response = try await post(directory.newAccount, .object(request))
        guard let url = response.headers.header("location") else { throw .malformed("the account has no URL") }
        account = try origin.url(url, "account")
        return url
    }

    /// Changes the account's contact addresses.
    func changeContacts(_ contacts: [String]) async throws(ACMEError) {
        guard let account else { return }
        _ = try await post(account, ["contact": .array(contacts.map { .string("mailto:\($0)") })])
    }

    func newOrder(for name: String) async throws(ACMEError) -> (order: ACMEOrder, url: String) {
        do throws(ACMEError) {
            let directory = try await currentDirectory()
            let response = try await post(
                directory.newOrder, ["identifiers": [["type": "dns", "value": .string(name)]]])
            guard let url = response.headers.header("location") else { throw .malformed("the order has no URL") }
            return (try ACMEOrder(response.json(), origin: origin), try origin.url(url, "order"))
        } catch {
            if case .malformed(let what, _) = error { throw .malformed(what, isOfAll: true) }
            throw error
        }
    }

    /// POST-as-GET (RFC 8555, 6.3).
    func get(_ url: String) async throws(ACMEError) -> Response { try await post(url, nil) }

    /// - Parameter payload: nil for POST-as-GET.
    func post(_ url: String, _ payload: JSON?) async throws(ACMEError) -> Response {
        for _ in 0..<Self.tries {
            let body: [UInt8]
            let nonce = try await takeNonce()
            do throws(CryptographyError) {
                body = try JSONWebSignature.sign(payload?.encoded() ?? [], protected: header(url, nonce), with: key)
            } catch {
                throw .cryptography("ES256")
            }
            let response = try await send(
                FetchRequest(
                    method: "POST", url: url, headers: [(name: "Content-Type", value: "application/jose+json")],
                    body: body, deadline: Self.patience, maximumResponseBytes: Self.longestBody))
            guard let error = error(of: response) else { return response }
            // RFC 8555, 6.5: sign again with the nonce of the error response.
            if case .refused(let problem) = error, problem.isOf("badNonce") { continue }
            throw error
        }
        throw .unreachable("it refuses each of its own nonces")
    }

    private func header(_ url: String, _ nonce: String) -> JSONObject {
        var header: JSONObject = ["alg": "ES256", "nonce": .string(nonce), "url": .string(url)]
        if let account { header["kid"] = .string(account) } else { header["jwk"] = .object(key.publicMembers) }
        return header
    }

    private func error(of response: Response) -> ACMEError? {
        guard !(200...299).contains(response.status) else { return nil }
        let wait = response.retryAfter(now: now())
        let problem = ACMEProblem(try? response.json(), status: response.status)
        if problem.isOf("rateLimited") || response.status == 429 { return .rateLimited(problem, retryAfter: wait) }
        if response.status >= 500 { return .unreachable("\(problem)", retryAfter: wait) }
        return .refused(problem)
    }

    // MARK: Requests

    /// Fetches the directory, so that its errors are reported before those of an order.
    func readDirectory() async throws(ACMEError) { _ = try await currentDirectory() }

    private func currentDirectory() async throws(ACMEError) -> ACMEDirectory {
        if let directory { return directory }
        let response = try await send(
            FetchRequest(url: directoryURL, deadline: Self.patience, maximumResponseBytes: Self.longestBody))
        if let error = error(of: response) { throw error }
        let found = try ACMEDirectory(response.json(), origin: origin)
        directory = found
        return found
    }

    private func takeNonce() async throws(ACMEError) -> String {
        if let known = nonce.take() { return known }
        let directory = try await currentDirectory()
        let response = try await send(
            FetchRequest(url: directory.newNonce, deadline: Self.patience, maximumResponseBytes: Self.longestBody))
        if let error = error(of: response) { throw error }
        guard let known = nonce.take() else { throw .malformed("no Replay-Nonce") }
        return known
    }

    private func send(_ request: FetchRequest) async throws(ACMEError) -> Response {
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            // RFC 8555, 6.5.1: a nonce that is not base64url is ignored.
            nonce = response.header("replay-nonce").flatMap { Base64URL.decode($0.utf8) == nil ? nil : $0 }
            return Response(headers: response, status: response.status)
        } catch {
            throw .unreachable(error.description)
        }
    }
}
