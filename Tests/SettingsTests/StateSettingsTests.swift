import Cryptography
import Postgres
import Testing

@testable import Settings

@Suite("State that gateways share")
struct StateSettingsTests {
    private static let key = "1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private func state(_ keys: String) throws -> PostgresStateSettings? {
        try load(Sample(more: "state: {postgres: {\(keys)}}").yaml).state?.postgres
    }

    @Test("Without it the state is the gateway's own")
    func isOffByDefault() throws {
        #expect(try load(Sample().yaml).state == nil)
    }

    @Test("A URL, a password and a key are all that is needed")
    func readsAll() throws {
        let state = try #require(
            try state(
                "url: 'postgresql://gate@db1.example.com,db2:5433/gatehouse', password: s3cret, sealing_keys: ['\(Self.key)']"
            ))
        #expect(
            state.connection.hosts == [
                PostgresSettings.Host("db1.example.com", port: 5432), PostgresSettings.Host("db2", port: 5433),
            ])
        #expect(state.connection.user == "gate")
        #expect(state.connection.database == "gatehouse")
        #expect(state.connection.password == Secret("s3cret"))
        #expect(!state.connection.hasPooler)
        #expect(state.poolSize == 8)
        #expect(state.sealingKeys.map(\.id) == ["1"])
        #expect(state.staleRevocations == StaleRevocationSettings(after: .seconds(300), then: .closed))
    }

    @Test(
        "Hosts may be addresses and sockets",
        arguments: [
            ("127.0.0.1:5", PostgresSettings.Host("127.0.0.1", port: 5)),
            ("[::1]:6", PostgresSettings.Host("::1", port: 6)),
            ("%2Fvar%2Frun%2Fpostgresql", PostgresSettings.Host("/var/run/postgresql")),
            ("%2Frun:7", PostgresSettings.Host("/run", port: 7)),
        ])
    func readsHosts(_ text: String, _ host: PostgresSettings.Host) throws {
        let state = try state("url: 'postgres://a%40b@\(text)/c%2Fd', sealing_keys: ['\(Self.key)']")
        #expect(state?.connection.hosts == [host])
        #expect(state?.connection.user == "a@b")
        #expect(state?.connection.database == "c/d")
    }

    @Test(
        "Faulty URLs are reported with what is wrong",
        arguments: [
            ("http://db/gatehouse", "must be a URL like postgresql://gatehouse@db.example.com:5432/gatehouse"),
            ("postgresql://db/gatehouse", "must name the role"),
            ("postgresql://:x@db/gatehouse", "must not hold a password"),
            ("postgresql://@db/gatehouse", "must name the role"),
            ("postgresql://gate:s3cret@db/gatehouse", "must not hold a password"),
            ("postgresql://gate@db", "must name the database"),
            ("postgresql://gate@db/", "must name the database"),
            ("postgresql://gate@db/a/b", "must name the database"),
            ("postgresql://gate@db/a?sslmode=disable", "must have no parameters"),
            ("postgresql://gate@/a", "must name hosts like"),
            ("postgresql://gate@db:0/a", "must name hosts like"),
            ("postgresql://gate@db:x/a", "must name hosts like"),
            ("postgresql://gate@db,/a", "must name hosts like"),
            ("postgresql://ga@te@db/a", "must be a URL like"),
            ("postgresql://gate@db/a%zz", "must name the database"),
            ("postgresql://gate@db/a%00", "must name the database"),
        ])
    func refusesURLs(_ url: String, _ expected: String) {
        let found = errors(
            Sample(more: "state: {postgres: {url: '\(url)', sealing_keys: ['\(Self.key)']}}").yaml)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains("state.postgres.url: \(expected)") == true, "\(found)")
        #expect(!found.joined().contains("s3cret"))
    }

    @Test(
        "Other faults are reported at their keys",
        arguments: [
            ("{}", "state.postgres: is missing"),
            ("{postgres: {sealing_keys: ['KEY']}}", "state.postgres.url: is missing"),
            ("{postgres: {url: 'postgresql://a@b/c'}}", "state.postgres.sealing_keys: is missing"),
            (
                "{postgres: {url: 'postgresql://a@b/c', sealing_keys: []}}",
                "state.postgres.sealing_keys: must hold at least one"
            ),
            (
                "{postgres: {url: 'postgresql://a@b/c', sealing_keys: [x]}}",
                "state.postgres.sealing_keys[0]: must be id:key"
            ),
            (
                "{postgres: {url: 'postgresql://a@b/c', sealing_keys: ['KEY'], pool_size: 0}}",
                "state.postgres.pool_size: must be a whole number from 1"
            ),
            (
                "{postgres: {url: 'postgresql://a@b/c', sealing_keys: ['KEY'], trusted_certificates: nowhere.pem}}",
                "state.postgres.trusted_certificates: the file can't be read"
            ),
            (
                "{postgres: {url: 'postgresql://a@b/c', sealing_keys: ['KEY'], stale_revocations: {then: maybe}}}",
                "state.postgres.stale_revocations.then: must be one of closed, open"
            ),
            (
                "{postgres: {url: 'postgresql://a@b/c', sealing_keys: ['KEY'], stale_revocations: {after: 1s}}}",
                "state.postgres.stale_revocations.after: must be a duration from 5s"
            ),
        ])
    func refuses(_ yaml: String, _ expected: String) {
        let found = errors(Sample(more: "state: \(yaml.replacing("KEY", with: Self.key))").yaml)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(expected) == true, "\(found)")
    }
}
