import Foundation
import Testing

@testable import GatehouseClient

@Suite("Pinned keys")
struct PinnedKeysTests {
    /// A key as Security returns it, and the pin that OpenSSL computes of its SubjectPublicKeyInfo:
    /// `openssl pkey -pubout -outform der | openssl dgst -sha256 -binary | base64`.
    struct Key: Sendable, CustomTestStringConvertible {
        let name: String
        let kind: PublicKeyInfo.Kind
        let representation: String
        let pin: String

        var testDescription: String { name }
        var info: Data? { Data(base64Encoded: representation).flatMap { PublicKeyInfo.der(kind, $0) } }
    }

    static let other = Data(repeating: 7, count: 32).base64EncodedString()

    @Test("A pin is of the key that OpenSSL computes it of", arguments: keys)
    func pin(_ key: Key) throws {
        let info = try #require(key.info)
        #expect(try PinnedKeys(key.pin, backup: Self.other).match([info]))
        #expect(try PinnedKeys(Self.other, backup: key.pin).match([info]))
        #expect(try !PinnedKeys(Self.other, backup: Data(repeating: 8, count: 32).base64EncodedString()).match([info]))
    }

    @Test("Any key of the chain counts, and an empty chain has none")
    func chain() throws {
        let infos = Self.keys.compactMap(\.info)
        let pins = try PinnedKeys(
            Self.other, backup: Data(repeating: 8, count: 32).base64EncodedString(),
            others: [
                Self.keys[2].pin
            ])
        #expect(infos.count == Self.keys.count)
        #expect(pins.match(infos))
        #expect(!pins.match(Array(infos[0..<2])))
        #expect(!pins.match([]))
    }

    @Test(
        "A pin must be the Base64 of 32 bytes",
        arguments: ["", "x", Data(repeating: 1, count: 31).base64EncodedString(), String(repeating: "ab", count: 32)])
    func malformed(_ text: String) {
        #expect(throws: PinnedKeys.PinError.malformed(text)) { try PinnedKeys(text, backup: Self.other) }
        #expect(throws: PinnedKeys.PinError.malformed(text)) { try PinnedKeys(Self.other, backup: text) }
    }

    @Test("The backup must be another pin")
    func backup() {
        #expect(throws: PinnedKeys.PinError.noBackup) { try PinnedKeys(Self.other, backup: Self.other) }
    }

    @Test("A curve that the client does not know, and a key without a sensible length, have no pin")
    func unknown() {
        #expect(PublicKeyInfo.der(.elliptic, Data(repeating: 4, count: 57)) == nil)
        #expect(PublicKeyInfo.der(.rsa, Data(count: 70_000)) == nil)
    }

    static let keys = [
        Key(
            name: "RSA with 1024 bits", kind: .rsa,
            representation: """
                MIGJAoGBAN/jZTa+GYvXWDPSLkOELxXtmo/0gZsBZBI89fC5ima1/YhYln8cDaNNDKfA33uxIuTltfnEg9OC9hDA9VxWtxr0\
                LrFYja0ldXec0UnMRC2Axi2YTJu7uEGfjYs2fXfBTHsVz5bH/6JQoP6E0chklXMthVMv3mj4WDaBcCiuVggHAgMBAAE=
                """,
            pin: "BXA41Ieft0+3X5A0A/MxjQ1QJPcxqyMhGExXOPLQ/r8="),
        Key(
            name: "RSA with 2048 bits", kind: .rsa,
            representation: """
                MIIBCgKCAQEA0E8P3Rd/jHS6Cdt6xQAs8DnR3rdVfT/6NXX6vIsW7PQXoJL8Otii8WLUzMme4h/Wy2QlOMUTrKLX68P9Ci3y\
                l9wXzGua4RN48OGt09bLxzEafaWXjtPv/AlHNs99kiMv0Uymt+jvCJeVNrr4xXO9MlAgHyCYkxbPEhY+iEWFREexA4rktLK1\
                FW+uIHg7j2JVA7q7/67u9mmUPOaAC8dz+u6L1kwQ8nBjewb3ysHx9Zw0j+pqpP7+xkSJ8KqqRA7b5GdRHJWfKNKCJFMzYCyR\
                oLl3Slr8O/s9ShlmHrQfbbHkuzUzegtMzAKksXDY+0QYRkrtB7CisiiK3SQgHC/TBwIDAQAB
                """,
            pin: "72uF9tLa54nYljcTfPwnINOMQqAtxSWorbapQuOxbvU="),
        Key(
            name: "RSA with 4096 bits", kind: .rsa,
            representation: """
                MIICCgKCAgEAoDJe6c5M80CO31/BJfH2UOf8qwv1tpwaqw9pjLCA15RXtQIN+3dfZc5U6xkUv31JruPxGeZsIWG//WGK3NrI\
                bgVAfxQynWvCzvwHBybo6+hJve3xMbfjlMN1Y21KWH5olp0rpdDscENW7JTk8w4H6BP8LelO9V89SCOufdxLbOooc3Au2RQN\
                AIggsyX3CYA5AljXMZfSQxQhYcnXhPmAbaXkPO85RA4s/Ul6lRfaxZFw3yVuolgPoIV7MIBbnD48+DoKYXsQZOu5qjybvjMP\
                BvI0RLKcL/sX8ftwYMlq2DefmuDuSOFgUeuyFr2sShokbHj/7QCjuM/6Gd+MicyovCmTb28h1mdV8BHlo0T81LHOVLXNGDrJ\
                5V4chVBf50p0Fp/b3c9E/JvtZumOtloEU8jFd1DPbCCYVeWDMn8n9VbaNHR2YOXgvrNcFoKiBNOKFhAgznwnVQjD1OAbzQkZ\
                xYBnyutLrhRqn77dOkUXOG8eBeXE6mgWbPThXiDnEKk2d8A03zExglYlTHg6jzS7xA6vBWKuouSdxRo6UiHHDhFz4w3cLOU6\
                /OiR8SDkfc4yQwvVwkpx74CAEz5J35arLr8gGH99G2vBL6KGKSmh8HRtsGENhYcgsytqJ0wDSF7iw20x94hfCNLrd6iSRLWz\
                V2r09FDozGQ0bc5sLk7bJLkCAwEAAQ==
                """,
            pin: "ypHjij++zdIiY6TFCaVkhlMZrrI6egyzSFcEkku49CQ="),
        Key(
            name: "P-256", kind: .elliptic,
            representation: """
                BINv4DC0qfPdNPwTmNTMQ/jO+SdGQzlb70b/V9igZ4ViIuFYMLbKrPFruaumvBchiCGAhFTmP2V86cBmZCO8pnk=
                """,
            pin: "/o717WzcOWD8zmvIGsTNSExSTywZpV9z4R+OoT6l5yE="),
        Key(
            name: "P-384", kind: .elliptic,
            representation: """
                BPlpt7rLqAIvhqlrrH4We8w/leLAH2YePFM7IsEUGwZHi9kr3OQsfzZ6z6KsV0W7y7i+KTkegtBWCGv/A1kTTX9BmWqn13Lb\
                jQMruLNObtI+LQfzUST7oPBIe5clVrJYLg==
                """,
            pin: "WoJGU4Dco0a4QqhXkB+QRI8tnaTgKCXT4s5f4Drq3QI="),
        Key(
            name: "P-521", kind: .elliptic,
            representation: """
                BAFgIcv3ri2N5uH9D29aQwIDbDDyHnk1r4ep3TWY8LkzApBnw+ryzx5wCLkP2Kf8WVB5ozDKytxhBXlV8cwv0OLUVwGhPHWv\
                V6QhYx/49C0CUlMOAaV+3QseVP3Ddndwlfu22gAvBR/nWKbXRYpmZahBN7Fiy0oh2NIJaRYqjL1ughgqzA==
                """,
            pin: "CG8kfQYE9+Bo+hq10ThEUjmKlrrE+E89HYkgMKTqr9M="),
    ]
}
