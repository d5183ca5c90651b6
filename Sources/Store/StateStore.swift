/// One open place of a gateway's records, whichever database it is.
package protocol StateStore: Sendable {
    var records: GatewayRecords { get }
    /// The gateway's own keys, where several gateways share them; nil where they are in the state directory.
    var keyRings: (any KeyRingRecords)? { get }
    /// The state of ACME, where several gateways share it; nil where it is in the state directory.
    var acme: (any ACMERecords)? { get }
    /// How many steps the schema has.
    var schemaVersion: Int { get }
    /// Why nothing can be written, by the last writes and trials; nil while all is well. Names no file and no value.
    var writeError: String? { get }
    /// Where the database was copied to before this version changed its schema; nil where it has not.
    var copyOfOlderSchema: String? { get }
    /// Whether several gateways share it: then it is away for all of them at once, and each serves on what it can.
    var isShared: Bool { get }
    /// Numbers for metrics; nil where the database is no server.
    var readings: StoreReadings? { get }
    /// Tries whether it can be written, for ``writeError``.
    func tryWriting() async
    /// The process has ended its service, and has answered whom it could.
    ///
    /// - Parameter now: seconds since 1970.
    func endInGoodOrder(now: Int64) async throws
}

extension StateStore {
    package var copyOfOlderSchema: String? { nil }
    package var acme: (any ACMERecords)? { nil }
    package var isShared: Bool { false }
    package var readings: StoreReadings? { nil }
}

extension Store: StateStore {
    package var records: GatewayRecords { GatewayRecords(self) }
    package var keyRings: (any KeyRingRecords)? { nil }

    package func endInGoodOrder(now: Int64) async throws {
        try await keepPruningClock(now: now)
        try await LostAnswers.endInGoodOrder(self, now: now)
    }
}
