import Encoding
import Foundation
import Testing

@testable import Cryptography

/// SHA-256 of a number's hexadecimal text, in hexadecimal.
private func hash(_ number: SRPNumber) -> String {
    Hexadecimal.encode(SHA256.hash(Array(number.hex.utf8)))
}

private func number(_ hex: String) throws -> SRPNumber { try #require(SRPNumber(hex: hex)) }

@Suite("SRP as Cognito uses it")
struct SRPTests {
    @Test("Every step of an exchange has the value that other implementations compute", arguments: SRPVector.all)
    func steps(vector: SRPVector) throws {
        #expect(SRP.multiplier.hex == SRPVector.multiplier)
        let (a, b) = (try number(vector.a), try number(vector.b))
        let x = SRP.privateKey(
            salt: try number(vector.salt), identity: vector.identity, password: Secret(vector.password))
        #expect(x.hex == vector.x)
        let verifier = try SRP.verifier(x)
        #expect(hash(verifier) == vector.hashOfVerifier)
        let publicA = try SRP.clientPublicValue(a)
        #expect(hash(publicA) == vector.hashOfClientPublicValue)
        let publicB = try SRP.serverPublicValue(b, verifier: verifier)
        #expect(hash(publicB) == vector.hashOfServerPublicValue)
        let u = try SRP.scrambler(clientPublicValue: publicA, serverPublicValue: publicB)
        #expect(u.hex == vector.u)
        let secret = try SRP.clientSecret(serverPublicValue: publicB, a: a, privateKey: x, scrambler: u)
        #expect(hash(secret) == vector.hashOfSecret)
        #expect(try SRP.serverSecret(clientPublicValue: publicA, verifier: verifier, b: b, scrambler: u) == secret)
        #expect(Hexadecimal.encode(SRP.sessionKey(secret: secret, scrambler: u)) == vector.key)
    }

    @Test(
        "The client's signature is the one other implementations send, and the server accepts it",
        arguments: SRPVector.all)
    func exchange(vector: SRPVector) throws {
        let client = try SRPClient(random: number(vector.a).bytes)
        let salt = try number(vector.salt)
        let verifier = try vector.identity.verifier(salt: salt, password: Secret(vector.password))
        let server = try SRPServer(verifier: verifier, random: number(vector.b).bytes)
        let signature = try client.signature(
            identity: vector.identity, password: Secret(vector.password), salt: salt,
            serverPublicValue: try number(server.publicValue.hex), secretBlock: SRPVector.secretBlock,
            timestamp: vector.timestamp)
        #expect(Hexadecimal.encode(signature) == vector.signature)
        let key = try server.sessionKey(clientPublicValue: try number(client.publicValue.hex))
        func accepts(_ signature: [UInt8], _ timestamp: String) -> Bool {
            SRPServer.accepts(
                signature, identity: vector.identity, sessionKey: key, secretBlock: SRPVector.secretBlock,
                timestamp: timestamp)
        }
        #expect(accepts(signature, vector.timestamp))
        #expect(!accepts(signature, "Sun Dec 29 00:00:00 UTC 2024"))
        var other = signature
        other[31] ^= 1
        #expect(!accepts(other, vector.timestamp))
        let wrong = try client.signature(
            identity: vector.identity, password: Secret("another password"), salt: salt,
            serverPublicValue: server.publicValue, secretBlock: SRPVector.secretBlock, timestamp: vector.timestamp)
        #expect(!accepts(wrong, vector.timestamp))
    }

    @Test("Values with which the key would not depend on the password end the exchange", arguments: [0, 1, 2])
    func degenerate(multiple: Int) throws {
        // 0, N and 2·N.
        let zero =
            switch multiple {
            case 0: SRPNumber([])
            case 1: SRP.prime
            default: SRPNumber([1] + doubledPrime)
            }
        let client = try SRPClient(random: [3])
        #expect(throws: SRPError.zeroPublicValue) {
            try client.signature(
                identity: SRPVector.user, password: Secret("p"), salt: SRPNumber([1]), serverPublicValue: zero,
                secretBlock: [], timestamp: "")
        }
        let server = try SRPServer(verifier: SRPNumber([5]), random: [7])
        #expect(throws: SRPError.zeroPublicValue) { try server.sessionKey(clientPublicValue: zero) }
    }

    /// The low 384 bytes of 2·N.
    private var doubledPrime: [UInt8] {
        var carry: UInt8 = 0
        return SRP.prime.bytes.reversed().map { byte in
            defer { carry = byte >> 7 }
            return byte << 1 | carry
        }.reversed()
    }

    @Test(
        "A number is padded to its minimal two's complement form",
        arguments: [
            ("14", "14"), ("7f", "7f"), ("80", "0080"), ("ec", "00ec"), ("fff", "0fff"), ("8000", "008000"),
            ("123", "0123"), ("0", "00"), ("007f", "7f"),
        ])
    func padding(text: String, padded: String) throws {
        #expect(Hexadecimal.encode(try number(text).padded) == padded)
    }

    @Test(
        "A number is written without zeros in front and read with any",
        arguments: [("0A", "a"), ("a", "a"), ("00ff", "ff"), ("100", "100"), ("000", "0"), ("0fbA1", "fba1")])
    func writing(text: String, written: String) throws {
        #expect(try number(text).hex == written)
    }

    @Test(
        "What isn't a number is refused",
        arguments: ["", " ", "0x1", "-1", "g", "1 2", "１", String(repeating: "f", count: 2049)])
    func notNumbers(text: String) {
        #expect(SRPNumber(hex: text) == nil)
    }

    @Test(
        "A timestamp has English names and a day without a zero in front",
        arguments: [
            (0, "Thu Jan 1 00:00:00 UTC 1970"), (1_717_747_509, "Fri Jun 7 08:05:09 UTC 2024"),
            (1_735_430_399, "Sat Dec 28 23:59:59 UTC 2024"), (1_709_164_800, "Thu Feb 29 00:00:00 UTC 2024"),
            (951_782_400, "Tue Feb 29 00:00:00 UTC 2000"), (4_107_542_400, "Mon Mar 1 00:00:00 UTC 2100"),
        ] as [(Int64, String)])
    func timestamps(seconds: Int64, text: String) {
        #expect(SRPTimestamp.text(at: seconds) == text)
        #expect(SRPTimestamp.isWellFormed(text))
    }

    @Test(
        "Other forms of a timestamp are refused",
        arguments: [
            "Fri Jun 07 08:05:09 UTC 2024", "Fri Jun 7 8:05:09 UTC 2024", "Fri Jun 7 08:05:09 GMT 2024",
            "Fri Juin 7 08:05:09 UTC 2024", "2024-06-07T08:05:09Z", "", "Fri Jun 7 08:05:09 UTC 2024 ",
            "Fri Jun 7 24:05:09 UTC 2024", "Fri Jun 7 08:05 UTC 2024", "Fri Jun 32 08:05:09 UTC 2024",
        ])
    func otherTimestamps(text: String) {
        #expect(!SRPTimestamp.isWellFormed(text))
    }

    /// Vectors that are not part of this package: a JSON file with a list `vectors`.
    static let file = ProcessInfo.processInfo.environment["GATEHOUSE_SRP_VECTORS"]

    @Test("The vectors of the file that GATEHOUSE_SRP_VECTORS names match", .enabled(if: file != nil))
    func fileOfVectors() throws {
        let data = try Data(contentsOf: URL(filePath: try #require(Self.file)))
        let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let vectors = try #require(root["vectors"] as? [[String: Any]])
        #expect(!vectors.isEmpty)
        for vector in vectors {
            func text(_ name: String) throws -> String { try #require(vector[name] as? String) }
            let name = try text("name")
            let (first, second) = (try text("pool_name_or_device_group_key"), try text("user_id_for_srp_or_device_key"))
            let identity =
                try text("kind") == "user"
                ? SRPIdentity(poolID: "x_\(first)", userID: second)
                : SRPIdentity(deviceGroupKey: first, deviceKey: second)
            let salt = try number(text("salt_hex"))
            let client = try SRPClient(random: number(text("a_hex")).bytes)
            let verifier = try identity.verifier(salt: salt, password: Secret(text("password")))
            let server = try SRPServer(verifier: verifier, random: number(text("b_hex")).bytes)
            #expect(try client.publicValue.hex == text("SRP_A"), "\(name)")
            #expect(try verifier.hex == text("verifier_hex"), "\(name)")
            #expect(try server.publicValue.hex == text("SRP_B"), "\(name)")
            let key = try server.sessionKey(clientPublicValue: client.publicValue)
            #expect(try Hexadecimal.encode(key) == text("hkdf_key_hex"), "\(name)")
            let block = try #require(Data(base64Encoded: try text("secret_block_b64")))
            let signature = try client.signature(
                identity: identity, password: Secret(text("password")), salt: salt,
                serverPublicValue: server.publicValue, secretBlock: Array(block), timestamp: text("timestamp"))
            #expect(try Data(signature).base64EncodedString() == text("signature_b64"), "\(name)")
        }
    }
}
