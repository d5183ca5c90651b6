import Cryptography
import Encoding
import Foundation
import TestSupport
import Testing

@testable import Listener

@Suite("Which certificate a server name gets")
struct ServerNamesTests {
    /// A certificate of `name` that is valid from now on for so many days.
    private static func identity(_ name: String, days: Int, obtainedFor: ExactText? = nil) throws -> TLSIdentity {
        let (status, text) = try ChildProcess.run([
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", "/dev/stdout",
            "-subj", "/", "-addext", "subjectAltName=DNS:\(name)", "-days", "\(days)",
        ])
        #expect(status == 0)
        return try TLSIdentity(
            TLSCertificate(chain: Array(text.utf8), key: Secret(text), obtainedFor: obtainedFor), index: 0)
    }

    /// The end of the one that is chosen.
    private static func chosen(_ identities: [TLSIdentity], _ name: String?, in days: Int64) -> Int64? {
        let now = Int64(Date().timeIntervalSince1970)
        return ServerNames(identities).identity(for: name, now: now + days * 86_400)?.served.expiresAt
    }

    @Test("The one that was obtained for a name goes before a file's, unless it has expired and the file's has not")
    func obtained() throws {
        let obtained = try Self.identity("a.test", days: 4, obtainedFor: "a.test")
        for other in ["a.test", "*.test"] {
            for days in [2, 6] {
                let file = try Self.identity(other, days: days)
                let all = [file, obtained]
                #expect(Self.chosen(all, "A.test", in: 1) == obtained.served.expiresAt, "\(other) \(days)")
                let later = days > 4 ? file : obtained
                #expect(Self.chosen(all, "a.test", in: 5) == later.served.expiresAt, "\(other) \(days)")
                #expect(Self.chosen(all, "a.test", in: 7) == obtained.served.expiresAt, "\(other) \(days)")
                #expect(Self.chosen(all, nil, in: 1) == nil)
                #expect(Self.chosen(all, "b.c.test", in: 1) == nil)
            }
        }
    }

    @Test("One that was obtained for a name is not preferred for other names that it has")
    func otherNames() throws {
        let file = try Self.identity("a.test", days: 2)
        let obtained = try Self.identity("b.test,DNS:a.test", days: 4, obtainedFor: "b.test")
        #expect(Self.chosen([file, obtained], "a.test", in: 1) == file.served.expiresAt)
        #expect(Self.chosen([file, obtained], "b.test", in: 1) == obtained.served.expiresAt)
    }

    @Test("Of two files for a name the first serves, unless it has expired")
    func files() throws {
        let (first, second) = (try Self.identity("a.test", days: 2), try Self.identity("a.test", days: 4))
        #expect(Self.chosen([first, second], "a.test", in: 1) == first.served.expiresAt)
        #expect(Self.chosen([first, second], "a.test", in: 3) == second.served.expiresAt)
        #expect(Self.chosen([first, second], "a.test", in: 5) == first.served.expiresAt)
    }
}
