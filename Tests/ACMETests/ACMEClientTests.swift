import Cryptography
import Encoding
import HTTPClient
import TestSupport
import Testing

@testable import ACME

@Suite("The client of a directory")
struct ACMEClientTests {
    private static let directory = Self.response(
        body: #"{"newNonce":"https://ca.test/n","newAccount":"https://ca.test/a","newOrder":"https://ca.test/o"}"#)

    private static func response(
        _ status: Int = 200, nonce: String? = nil, _ headers: [(name: String, value: String)] = [], body: String = "{}"
    ) -> FetchResponse {
        let nonce = nonce.map { [(name: "replay-nonce", value: $0)] } ?? []
        return FetchResponse(status: status, headers: nonce + headers, body: Array(body.utf8))
    }

    private static func problem(_ type: String, _ status: Int = 400, nonce: String? = nil, retryAfter: String? = nil)
        -> FetchResponse
    {
        response(
            status, nonce: nonce, retryAfter.map { [(name: "retry-after", value: $0)] } ?? [],
            body: #"{"type":"urn:ietf:params:acme:error:\#(type)","detail":"why\n\u0007"}"#)
    }

    private static func client(_ answers: [FetchResponse]) throws -> (ACMEClient, RecordedFetcher) {
        let fetcher = RecordedFetcher(answers.map { .success($0) })
        let client = ACMEClient(
            directory: "https://ca.test/dir", key: try P256SigningKey.generate(), fetcher: fetcher, now: { 1_000 })
        return (client, fetcher)
    }

    private static func header(_ request: FetchRequest) throws -> JSON {
        let body = try JSON.parse(#require(request.body))
        let header = try #require(body["protected"]?.stringValue)
        return try JSON.parse(#require(Base64URL.decode(header.utf8)))
    }

    @Test("An account is made with the key itself, and signs by its URL from then on")
    func account() async throws {
        let made = Self.response(201, nonce: "Ag", [(name: "location", value: "https://ca.test/acct/1")])
        let (client, fetcher) = try Self.client([Self.directory, Self.response(nonce: "AQ"), made, Self.response()])
        #expect(try await client.useAccount(nil, contacts: ["ops@example.com"]) == "https://ca.test/acct/1")
        _ = try await client.get("https://ca.test/x")
        let requests = await fetcher.requests
        #expect(requests.map(\.url).suffix(2) == ["https://ca.test/a", "https://ca.test/x"])
        let (first, second) = (try Self.header(requests[2]), try Self.header(requests[3]))
        #expect(first["jwk"]?["kty"] == "EC" && first["kid"] == nil && first["nonce"] == "AQ")
        #expect(second["jwk"] == nil && second["kid"] == "https://ca.test/acct/1" && second["nonce"] == "Ag")
        #expect(second["url"] == "https://ca.test/x")
        #expect(requests[3].headers.contains { $0.name == "Content-Type" && $0.value == "application/jose+json" })
        #expect(try JSON.parse(#require(requests[3].body))["payload"] == "")
    }

    @Test("A refused nonce is replaced by the one that came with the refusal, and not for ever")
    func badNonce() async throws {
        let refused = Self.problem("badNonce", nonce: "Aw")
        let (client, fetcher) = try Self.client(
            [Self.directory, Self.response(nonce: "AQ"), refused, Self.response(body: #"{"a":1}"#)])
        #expect(try await client.get("https://ca.test/x").json()["a"] == 1)
        #expect(try Self.header(await fetcher.requests[3])["nonce"] == "Aw")

        let (other, asked) = try Self.client(
            [Self.directory, Self.response(nonce: "AQ")] + Array(repeating: refused, count: 50))
        await #expect(throws: ACMEError.self) { _ = try await other.get("https://ca.test/x") }
        #expect(await asked.requests.count == 12)
    }

    static let refusals: [(FetchResponse, @Sendable (ACMEError) -> Bool)] = [
        (problem("rateLimited", 429, retryAfter: "120"), { if case .rateLimited(_, 120) = $0 { true } else { false } }),
        (response(429), { if case .rateLimited(_, nil) = $0 { true } else { false } }),
        (
            problem("rateLimited", 403, retryAfter: "Thu, 01 Jan 1970 00:20:00 GMT"),
            { if case .rateLimited(_, 200) = $0 { true } else { false } }
        ),
        (response(503, body: "busy"), { if case .unreachable = $0 { true } else { false } }),
        (response(302), { if case .refused = $0 { true } else { false } }),
        (
            problem("rejectedIdentifier"),
            { "\($0)" == "the directory refused: rejectedIdentifier: why??" }
        ),
    ]

    @Test("Errors are told apart, with what the directory says of the next attempt", arguments: refusals.indices)
    func errors(number: Int) async throws {
        let (answer, isExpected) = Self.refusals[number]
        let (client, _) = try Self.client([Self.directory, Self.response(nonce: "AQ"), answer])
        do throws(ACMEError) {
            _ = try await client.get("https://ca.test/x")
            Issue.record("no error")
        } catch {
            #expect(isExpected(error), "\(error)")
        }
    }

    @Test(
        "A new order that cannot be read is no name's fault",
        arguments: ["<html>", "{}", #"{"status":"pending","authorizations":[]}"#])
    func unreadableOrder(body: String) async throws {
        let location = [(name: "location", value: "https://ca.test/order/1")]
        let (client, _) = try Self.client(
            [Self.directory, Self.response(nonce: "AQ"), Self.response(201, location, body: body)])
        do throws(ACMEError) {
            _ = try await client.newOrder(for: "a.test")
            Issue.record("no error")
        } catch {
            #expect(RenewalSchedule.concernsAll(error), "\(error)")
        }
    }

    @Test(
        "URLs on other servers are not asked",
        arguments: [
            "https://other.test/a", "http://ca.test/a", "https://ca.test.evil.test/a", "https://ca.test@evil.test/a",
            "https://ca.test:444/a", "//ca.test/a", "https://ca.test\\@evil.test/",
        ])
    func origins(url: String) throws {
        #expect(throws: ACMEError.foreignURL) { try ACMEOrigin(ofDirectory: "https://ca.test/dir").url(url, "a") }
    }

    @Test("A token that is no base64url is refused", arguments: ["../x", "a/b", "", "a b", "a%2f"])
    func tokens(token: String) throws {
        let json: JSON = [
            "status": "pending", "identifier": ["type": "dns", "value": "a.test"],
            "challenges": [["type": "http-01", "url": "https://ca.test/c", "token": .string(token)]],
        ]
        #expect(throws: ACMEError.malformed("a challenge's token")) {
            try ACMEAuthorization(json, origin: ACMEOrigin(ofDirectory: "https://ca.test/dir"))
        }
    }
}
