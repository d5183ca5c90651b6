import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("GetUser and the key set")
struct GetUserTests {
    @Test("GetUser gives the user's attributes as strings")
    func attributes() async throws {
        let pool = try TestPool()
        let token = try await pool.signedIn().text("AccessToken")
        let answer = try await pool.pool.answer("GetUser", ["AccessToken": .string(token)])
        #expect(
            answer == [
                "UserAttributes": [
                    ["Name": "sub", "Value": .string(TestPool.sub)],
                    ["Name": "email_verified", "Value": "true"],
                    ["Name": "name", "Value": "Jane"],
                    ["Name": "email", "Value": .string(TestPool.email)],
                ],
                "Username": .string(TestPool.sub),
            ])
    }

    @Test("What isn't this pool's access token is refused")
    func wrongTokens() async throws {
        let pool = try TestPool()
        let tokens = try await pool.signedIn()
        let access = try tokens.text("AccessToken")
        let stranger = try await TestPool(isReal: true).signedIn().text("AccessToken")
        let parts = access.split(separator: ".").map(String.init)
        let cases = [
            "an ID token": try tokens.text("IdToken"),
            "another pool's token": stranger,
            "a token without signature": "\(parts[0]).\(parts[1]).",
            "another pool's signature": "\(parts[0]).\(parts[1]).\(stranger.split(separator: ".")[2])",
            "alg none": Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + ".\(parts[1]).",
            "one part": parts[1],
            "four parts": access + ".x",
        ]
        for (name, token) in cases {
            #expect(
                try await pool.refusal("GetUser", ["AccessToken": .string(token)]) == .invalidAccessToken, "\(name)")
        }
    }

    @Test("An access token has expired after its lifetime, and not a second before")
    func expired() async throws {
        let pool = try TestPool()
        let request: JSONObject = ["AccessToken": .string(try await pool.signedIn().text("AccessToken"))]
        pool.clock.advance(3599)
        _ = try await pool.pool.answer("GetUser", request)
        pool.clock.advance(1)
        #expect(try await pool.refusal("GetUser", request) == .expiredAccessToken)
    }

    @Test("Access and ID tokens verify with different keys of the key set")
    func keySet() async throws {
        let pool = try TestPool()
        let tokens = try await pool.signedIn()
        let keys = try #require(pool.pool.keySet["keys"]?.arrayValue)
        #expect(keys.count == 2)
        var keyIDs: Set<String> = []
        for name in ["AccessToken", "IdToken"] {
            let token = try tokens.text(name)
            let keyID = try header(token).text("kid")
            keyIDs.insert(keyID)
            let key = try #require(keys.first { $0["kid"]?.stringValue == keyID }?.objectValue)
            #expect(key["kty"] == "RSA")
            #expect(key["alg"] == "RS256")
            #expect(key["use"] == "sig")
            let modulus = try #require(Base64URL.decode(try key.text("n").utf8))
            let exponent = try #require(Base64URL.decode(try key.text("e").utf8))
            let parts = token.split(separator: ".")
            #expect(
                try VerificationKey.rsa(modulus: modulus, exponent: exponent).verify(
                    signature: try #require(Base64URL.decode(parts[2].utf8)),
                    of: Array("\(parts[0]).\(parts[1])".utf8), algorithm: .rs256))
        }
        #expect(keyIDs.count == 2)
    }

    @Test("An operation that isn't there is unknown", arguments: ["CreateUserPool", "ListUserPools", "", "signup"])
    func unknownOperation(name: String) async throws {
        #expect(try await TestPool().refusal(name, [:]) == .unknownOperation(name))
    }
}
