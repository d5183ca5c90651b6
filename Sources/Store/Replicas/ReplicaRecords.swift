/// One of several gateways that share their records, as the others see it. Times are the database's.
package struct Replica: Sendable, Equatable {
    package enum State: String, Sendable {
        /// It sends heartbeats.
        case alive
        /// It has sent no heartbeat for ``ReplicaTimes/silence``.
        case lost
        /// It shut down cleanly.
        case ended
    }

    /// Unique to each start.
    package var id: String
    /// The host name of the machine or the container.
    package var name: String
    package var version: String
    /// The digest of its configuration.
    package var configuration: String
    package var state: State
    /// Seconds since 1970.
    package var startedAt: Int64
    /// Seconds since the last heartbeat.
    package var silence: Int64
    /// Seconds since its list of revocations was last known to be complete; nil if it has no list.
    package var listAge: Int64?

    package init(
        id: String, name: String, version: String, configuration: String, state: State, startedAt: Int64,
        silence: Int64, listAge: Int64?
    ) {
        self.id = id
        self.name = name
        self.version = version
        self.configuration = configuration
        self.state = state
        self.startedAt = startedAt
        self.silence = silence
        self.listAge = listAge
    }
}

/// A gateway's report about itself.
package struct ReplicaReport: Sendable, Equatable {
    package var id: String
    package var name: String
    package var version: String
    package var configuration: String
    /// The position up to which it has read the list of revocations, and how many seconds ago.
    package var list: ListStanding?

    package struct ListStanding: Sendable, Equatable {
        package var position: ChangePosition
        package var age: Int64

        package init(position: ChangePosition, age: Int64) {
            self.position = position
            self.age = age
        }
    }

    package init(id: String, name: String, version: String, configuration: String, list: ListStanding? = nil) {
        self.id = id
        self.name = name
        self.version = version
        self.configuration = configuration
        self.list = list
    }
}

/// The number of gateways that have confirmed a change.
package struct Confirmations: Sendable, Equatable, CustomStringConvertible {
    package var confirmed: Int
    package var all: Int

    package init(confirmed: Int, all: Int) {
        self.confirmed = confirmed
        self.all = all
    }

    package var isComplete: Bool { confirmed >= all }
    package var description: String { "\(confirmed)/\(all)" }
}

/// The times by which the state of gateways is determined, in seconds.
package enum ReplicaTimes {
    /// The interval between heartbeats.
    package static let heartbeat: Int64 = 2
    /// The time without a heartbeat after which a gateway is lost.
    package static let silence: Int64 = 10
    /// How long ended and lost gateways are remembered.
    package static let (endedMemory, lostMemory): (Int64, Int64) = (600, 3600)
}

/// The gateways that share their records.
package protocol ReplicaRecords: Sendable {
    /// Stores a heartbeat.
    func report(_ report: ReplicaReport) async throws
    /// Stores that a gateway has shut down cleanly.
    func end(_ id: String) async throws
    /// Finds gateways without recent heartbeats and reopens the retry windows that were open at the last one
    /// (``RetryWindows``), since they may have sent no response after it. Each lost gateway is found once, by one of the
    /// others.
    ///
    /// - Returns: the names of the gateways found by this call.
    func takeUpLost() async throws -> [String]
    /// Returns all remembered gateways, by name.
    func all() async throws -> [Replica]
    /// Deletes gateways of long ago, and none that may still serve.
    ///
    /// - Parameter silence: for how many seconds without a heartbeat a gateway may serve.
    func removeGone(silence: Int64) async throws
    /// The position of the revocation changes committed so far.
    func position() async throws -> ChangePosition
    /// The number of gateways that have read all changes up to a position.
    ///
    /// - Parameter silence: counts gateways with a heartbeat within this number of seconds: as long as a gateway may
    ///   serve without the database.
    func confirmations(of position: ChangePosition, silence: Int64) async throws -> Confirmations
}
