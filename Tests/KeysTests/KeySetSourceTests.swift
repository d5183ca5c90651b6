import Cryptography
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPClient
@testable import Keys
@testable import Pipeline

@Suite("Key sets: where they come from", .timeLimit(.minutes(10)))
struct KeySetSourceTests {
    static func issuer(_ source: Issuer.KeySource) -> Issuer {
        Issuer(
            name: "provider", issuer: "https://id.example/", profile: .openID(OpenIDRules(audiences: ["api"])),
            keySource: source)
    }

    static let discovering = issuer(.discovery("https://id.example/.well-known/openid-configuration"))

    static func metadata(_ text: String) -> Result<FetchResponse, FetchError> {
        .success(FetchResponse(status: 200, body: Array(text.utf8)))
    }

    static let good = #"{"issuer":"https://id.example/","jwks_uri":"https://keys.example/set","x":[1]}"#

    @Test("A provider's metadata say where its keys are")
    func discovery() async throws {
        let fixture = KeySetFixture(
            Self.metadata(Self.good), try KeySetFixture.answer("key-1"), issuer: Self.discovering)
        #expect(await fixture.lookUp("key-1") == "refreshed")
        #expect(fixture.published.all == [["key-1"]])
        let requests = await fixture.fetcher.requests
        #expect(
            requests.map(\.url) == [
                "https://id.example/.well-known/openid-configuration", "https://keys.example/set",
            ])
        // Both together have the time of one.
        #expect(requests[0].deadline == .seconds(3) && requests[1].deadline < .seconds(3))
        #expect(requests.allSatisfy { $0.maximumResponseBytes == KeySet.maximumBytes })
    }

    @Test(
        "Metadata that are another issuer's, or none, lead nowhere",
        arguments: [
            #"{"issuer":"https://id.example","jwks_uri":"https://keys.example/set"}"#,
            #"{"issuer":"https://ID.example/","jwks_uri":"https://keys.example/set"}"#,
            #"{"issuer":["https://id.example/"],"jwks_uri":"https://keys.example/set"}"#,
            #"{"issuer":"https://evil.example/","issuer":"https://id.example/","jwks_uri":"https://k"}"#,
            #"{"jwks_uri":"https://keys.example/set"}"#, #"{"issuer":"https://id.example/"}"#,
            #"{"issuer":"https://id.example/","jwks_uri":["https://k"]}"#,
            #"{"issuer":"https://id.example/","jwks_uri":"https://k\r\nX: y"}"#, "[]", "", "<html>",
        ])
    func foreignMetadata(text: String) async throws {
        let fixture = KeySetFixture(
            Self.metadata(text), try KeySetFixture.answer("key-1"), issuer: Self.discovering)
        #expect(await fixture.lookUp("key-1") == "unavailable")
        #expect(await fixture.fetcher.calls == 1)
        #expect(fixture.published.all == [] && fixture.service.currentStatus.failures == 1)
    }

    @Test("Keys in the settings are there at once and are never fetched")
    func configured() async throws {
        let document = try KeySetFixture.document("key-1")
        let issuer = Self.issuer(.document(document))
        let set = try #require(try Wiring.configuredKeySet(issuer))
        let fixture = KeySetFixture(.failure(.timedOut), issuer: issuer, configured: set)
        #expect(fixture.service.currentSet?.keyIDs == ["key-1"])
        await fixture.service.prepare()
        // Ends by itself: there is nothing to wait for.
        await fixture.service.run()
        fixture.service.adopt(KeySetService.Policy(maximumAge: 1, staleLimit: 0))
        fixture.clock.advance(1_000_000)
        await fixture.service.run()
        #expect(await fixture.lookUp("key-1") == "refreshed")
        #expect(await fixture.lookUp("key-2") == "unchanged")
        #expect(await fixture.fetcher.calls == 0)
        #expect(fixture.service.currentSet?.keyIDs == ["key-1"])
    }

    @Test("What is left out of a key set in the settings is warned of once")
    func warned() async throws {
        let document = try KeySetFixture.document("key-1")
        let text = String(decoding: document, as: UTF8.self).replacing(#"{"keys":["#, with: #"{"keys":[{"kty":"oct"},"#)
        let issuer = Self.issuer(.document(Array(text.utf8)))
        let log = WarningLog()
        let fixture = KeySetFixture(
            .failure(.timedOut), issuer: issuer, configured: try Wiring.configuredKeySet(issuer), log: log)
        await fixture.service.run()
        await fixture.service.run()
        #expect(log.warnings == ["keys left out of the key set: keys[0]: no kid of 1 to 256 bytes"])
    }

    @Test("A secret is a key set of one")
    func secret() throws {
        let secret = Secret("0123456789abcdef0123456789abcdef")
        for (keyID, expected) in [("k", ["k"]), (nil, [""])] as [(String?, [String])] {
            var issuer = Self.issuer(.secret(secret, keyID: keyID))
            issuer.algorithms = [.hs256]
            #expect(try Wiring.configuredKeySet(issuer)?.keyIDs == expected)
        }
        #expect(try Wiring.configuredKeySet(Self.discovering) == nil)
    }
}
