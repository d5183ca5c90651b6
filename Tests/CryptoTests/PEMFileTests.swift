import Cryptography
import Foundation
import Testing

@Suite("PEM files for TLS")
struct PEMFileTests {
    /// Two self-signed certificates for P-256 keys, and the key of the first.
    static let first = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCARWgAwIBAgIUY6BvJP38aCectQBz79RFFdyvES0wCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYTAgFw0yNjExMjEyMjMwMTdaGA8yMTI2MTAyODIyMzAxN1ow
        DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAGoYWR1cjBK
        RgVzaNF3EUhX3+WAEuifu0B48Rb8hpTREiAqniy9+gBvKXaq8wvBm87ABPOmd3Lj
        p4Uls487aw2jUzBRMB0GA1UdDgQWBBR9CiHFf5HGbXxcwtl6Ke5mDQHiHTAfBgNV
        HSMEGDAWgBR9CiHFf5HGbXxcwtl6Ke5mDQHiHTAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0cAMEQCIChdnBv0B7PD9dyH4l/t7nN9FEEggW27jfiUc4jY/MDu
        AiAR1pXf3mbbwfXb9ey7GkWrbfdwETAyIGmmOEe+w9BQFw==
        -----END CERTIFICATE-----
        """
    static let second = """
        -----BEGIN CERTIFICATE-----
        MIIBcDCCARWgAwIBAgIURFgbG8m6DwKUAarnSniTLrDaFx8wCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYjAgFw0yNjExMjEyMjMwMTdaGA8yMTI2MTAyODIyMzAxN1ow
        DDEKMAgGA1UEAwwBYjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGdbZrFUQ+0h
        dxOkJ8x3FoFOCDeRlXpVCR2rrNXfmxFhefG6MD6P2hSXoUhF6BtoJTiriw7I+7MZ
        ngoxWMMZPJajUzBRMB0GA1UdDgQWBBQHXB3D4ZQqb+YeBHaHkzVTorwwzjAfBgNV
        HSMEGDAWgBQHXB3D4ZQqb+YeBHaHkzVTorwwzjAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0kAMEYCIQC7QA9CF3Up49wQnSykpHRdZAncUXNBX/ow56vsfHvI
        ZQIhAI7xxiCREYi0VOcuoo9ulkaWv+0bOtYEnC1MJYxa0y9m
        -----END CERTIFICATE-----
        """
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQkbbpzF5o+Rcp/QY
        TR+9k4tmtTtz0BaXY7o4SyKWUC2hRANCAAQBqGFkdXIwSkYFc2jRdxFIV9/lgBLo
        n7tAePEW/IaU0RIgKp4svfoAbyl2qvMLwZvOwATzpndy46eFJbOPO2sN
        -----END PRIVATE KEY-----
        """
    static let chain = "# a comment\n\(first)\n\(second)\n"

    @Test(
        "Certificates are counted, and none that is cut off or spoilt is passed over",
        arguments: [
            (first, 1), (chain, 2), ("", 0), ("nothing of the kind", 0), (key, 0),
            (String(first.dropLast(40)), nil), (String(chain.dropLast(200)), nil),
            (first.replacingOccurrences(of: "MII", with: "M!I"), nil),
            (first + "\n-----BEGIN CERTIFICATE-----\n", nil),
        ] as [(String, Int?)])
    func counted(pem: String, expected: Int?) {
        #expect(PEMFile.certificates(in: Array(pem.utf8)) == expected)
    }

    @Test(
        "A key is the first certificate's, another's, or none",
        arguments: [
            (key, chain, true), (key, second, false), ("", first, nil), (first, first, nil),
            (String(key.dropLast(60)), first, nil), (key, "", false),
        ] as [(String, String, Bool?)])
    func keys(key: String, chain: String, expected: Bool?) {
        #expect(PEMFile.isKey(Secret(key), of: Array(chain.utf8)) == expected)
    }

    @Test(
        "The hash of a public key is the one that OpenSSL's tools make, and is for the first certificate",
        arguments: [
            (first, "tSTCohSw7+kk4+bRfLxwIhOn0w/KctkOOxb081B7t7E="),
            (chain, "tSTCohSw7+kk4+bRfLxwIhOn0w/KctkOOxb081B7t7E="),
            (second, "kuNgLI5ZVG3bLtm3qUM4nWu53NP3YAXiUanFeGJbtGE="), (key, nil), ("", nil),
            (String(first.dropLast(60)), nil),
        ] as [(String, String?)])
    func publicKeyHash(pem: String, expected: String?) {
        #expect(PEMFile.publicKeyHash(in: Array(pem.utf8)).map { Data($0).base64EncodedString() } == expected)
    }
}
