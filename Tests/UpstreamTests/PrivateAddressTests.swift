import HTTPClient
import Testing

@testable import Curl
@testable import Upstream

@Suite("Upstream: private addresses", .timeLimit(.minutes(10)))
struct PrivateAddressTests {
    /// IPv4 as four numbers, IPv6 as hexadecimal digits of all 16 bytes.
    static func bytes(_ text: String) -> [UInt8] {
        if text.contains(".") { return text.split(separator: ".").compactMap { UInt8($0) } }
        let digits = text.compactMap(\.hexDigitValue).map(UInt8.init)
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    @Test(
        "Addresses of this machine, its link and its network are private",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
            "127.255.255.255", "169.254.0.0", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1",
            "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "224.0.0.1", "239.255.255.255",
            "240.0.0.1", "255.255.255.255",
            "00000000 00000000 00000000 00000000", "00000000 00000000 00000000 00000001",
            "fc000000 00000000 00000000 00000001", "fdffffff ffffffff ffffffff ffffffff",
            "fe800000 00000000 00000000 00000001", "febf0000 00000000 00000000 00000001",
            "fec00000 00000000 00000000 00000001", "ff020000 00000000 00000000 00000001",
            "00000000 00000000 0000ffff 7f000001", "00000000 00000000 0000ffff a9fea9fe",
            "0064ff9b 00000000 00000000 0a000001", "2002c0a8 00010000 00000000 00000001",
            "00000000 00000000 00000000 a9fea9fe", "00000000 00000000 00000000 01010101",
            "0064ff9b 0001a9fe 00a9fe00 00000000", "0064ff9b 0001ffff ffffffff ffffffff",
        ])
    func isPrivate(address: String) {
        #expect(PrivateAddress.contains(Self.bytes(address)))
    }

    @Test(
        "Addresses of the internet are not",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
            "26000000 00000000 00000000 00000001", "00000000 00000000 0000ffff 01010101",
            "0064ff9b 00000000 00000000 01010101", "0064ff9b 00020000 00000000 01010101",
            "20020101 01010000 00000000 00000001",
            "fbffffff ffffffff ffffffff ffffffff", "fe7fffff ffffffff ffffffff ffffffff",
        ])
    func isPublic(address: String) {
        #expect(!PrivateAddress.contains(Self.bytes(address)))
    }

    @Test("What is no address counts as private")
    func noAddress() {
        for count in [0, 1, 3, 5, 15, 17] {
            #expect(PrivateAddress.contains([UInt8](repeating: 1, count: count)))
        }
    }

    @Test("No connection is made to a private address unless it is allowed, by number or by name")
    func refused() async throws {
        try await Client.with([[.ok]]) { client async throws in
            let (careful, trusting) = try await client.onLoop {
                (
                    CurlFetcher(loop: $0.curl, allowsPlainText: true, allowsPrivateAddresses: false),
                    CurlFetcher(loop: $0.curl, allowsPlainText: true)
                )
            }
            let port = client.backend.port
            for host in ["127.0.0.1", "localhost", "[::1]", "2130706433", "0"] {
                let request = FetchRequest(url: "http://\(host):\(port)/")
                await #expect(throws: FetchError.forbiddenAddress, "\(host)") { try await careful.fetch(request) }
            }
            #expect(try await client.backend.accepted == 0)
            #expect(try await trusting.fetch(FetchRequest(url: client.backend.url)).status == 200)
        }
    }
}
