/// An open store of a gateway's records, independent of the database behind it.
package protocol StateStore: Sendable {
    var records: GatewayRecords { get }
    /// The gateway's own keys if several gateways share them; nil if they are in the state directory.
    var keyRings: (any KeyRingRecords)? { get }
    /// The ACME state if several gateways share it; nil if it is in the state directory.
    var acme: (any ACMERecords)? { get }
    /// The number of schema steps.
    var schemaVersion: Int { get }
    /// The reason why the store cannot be written, according to the last writes and trials; nil if it can. Contains no
    /// file name and no value.
    var writeError: String? { get }
    /// The path of the copy made before this version changed the schema; nil if it has not.
    var copyOfOlderSchema: String? { get }
    /// Whether several gateways share the store. If so, all of them lose it at once, and each continues to serve what
    /// it can.
    var isShared: Bool { get }
    /// Metrics of a database server; nil for other databases.
    var readings: StoreReadings? { get }
    /// Tests whether the store can be written, for ``writeError``.
    func tryWriting() async
    /// Records that the process has ended its service and has answered all requests that it could.
    ///
    /// - Parameter now: seconds since 1970.
    func recordCleanShutdown(now: Int64) async throws
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

    package func recordCleanShutdown(now: Int64) async throws {
        try await keepPruningClock(now: now)
        try await RetryWindows.recordCleanShutdown(self, now: now)
    }
}
