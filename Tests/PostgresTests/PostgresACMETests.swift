import Cryptography
import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    @Suite("Certificates that gateways share")
    struct CertificatesOfGateways {
        @Test("A version follows the one before and no other, and a known one is not read again")
        func versions() async throws {
            let database = try await RecordsDatabase()
            let (records, other) = (PostgresACME(database.store), PostgresACME(database.other()))
            #expect(try await records.state(otherThan: nil) == nil)
            let steps: [(version: Int64, isTaken: Bool)] = [
                (2, false), (1, true), (1, false), (3, false), (2, true), (2, false), (3, true),
            ]
            for step in steps {
                let known = step.version == 1 ? nil : Self.version(step.version - 1)
                let isTaken = try await records.replace(known, with: Self.record(step.version))
                #expect(isTaken == step.isTaken, "\(step.version)")
            }
            #expect(try await other.state(otherThan: Self.version(2)) == Self.record(3))
            #expect(try await other.state(otherThan: Self.version(3)) == nil)
        }

        @Test("Another version with the same number, as behind a failover, is read and not replaced unseen")
        func sameNumber() async throws {
            let database = try await RecordsDatabase()
            let records = PostgresACME(database.store)
            #expect(try await records.replace(nil, with: Self.record(1)))
            try await database.store.run("UPDATE acme_state SET sealed = '\\x07'")
            #expect(try await !records.replace(Self.version(1), with: Self.record(2)))
            let other = ACMERecord(version: 1, sealed: [7])
            #expect(try await records.state(otherThan: Self.version(1)) == other)
            let known = ACMEVersion(number: 1, digest: SHA256.hash(other.sealed))
            #expect(try await records.replace(known, with: Self.record(2)))
        }

        private static func record(_ version: Int64) -> ACMERecord {
            ACMERecord(version: version, sealed: [0, UInt8(version), 255])
        }

        private static func version(_ number: Int64) -> ACMEVersion {
            ACMEVersion(number: number, digest: SHA256.hash(record(number).sealed))
        }

        @Test("One of several gateways has the lease, until it gives it back or its time is over")
        func lease() async throws {
            let fixture = try await RecordsFixture(PostgresACME.migrations)
            let taken = try await fixture.race { store, writer in
                try await PostgresACME(store).lease(to: "gateway \(writer)", seconds: 60) ? writer : nil
            }.compactMap { $0 }
            #expect(taken.count == 1)
            let holder = "gateway \(taken.first ?? 0)"
            let records = PostgresACME(fixture.stores[0])
            #expect(try await records.lease(to: holder, seconds: 60), "the holder renews it")
            #expect(try await !records.lease(to: "another", seconds: 60))
            try await records.endLease(of: "another")
            #expect(try await !records.lease(to: "another", seconds: 60))
            try await records.endLease(of: holder)
            #expect(try await records.lease(to: "another", seconds: 60))
            try await fixture.stores[0].run("UPDATE acme_leases SET ends_at = now() - interval '1 second'")
            #expect(try await records.lease(to: holder, seconds: 60))
            #expect(try await !records.lease(to: "another", seconds: 60))
        }
    }
}
