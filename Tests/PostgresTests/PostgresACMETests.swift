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
            #expect(try await records.state(otherThan: 0) == nil)
            let steps: [(version: Int64, isTaken: Bool)] = [
                (2, false), (1, true), (1, false), (3, false), (2, true), (2, false), (3, true),
            ]
            for step in steps {
                let record = ACMERecord(version: step.version, sealed: [0, UInt8(step.version), 255])
                #expect(try await records.replace(with: record) == step.isTaken, "\(step.version)")
            }
            #expect(try await other.state(otherThan: 2) == ACMERecord(version: 3, sealed: [0, 3, 255]))
            #expect(try await other.state(otherThan: 3) == nil)
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
