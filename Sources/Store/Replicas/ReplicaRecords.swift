/// A gateway of several that share their records, as the others know it. Times are the database's.
package struct Replica: Sendable, Equatable {
    package enum State: String, Sendable {
        /// It is heard of.
        case alive
        /// It has not been heard of for ``ReplicaTimes/silence``.
        case lost
        /// It ended in good order.
        case ended
    }

    /// Another one after each start.
    package var id: String
    /// The machine's or the container's.
    package var name: String
    package var version: String
    /// The digest of its configuration.
    package var configuration: String
    package var state: State
    /// Seconds since 1970.
    package var startedAt: Int64
    /// Seconds since it was heard of last.
    package var silence: Int64
    /// Seconds since its list of revocations was last known to be complete; nil where it has none.
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

/// A report of a gateway about itself.
package struct ReplicaReport: Sendable, Equatable {
    package var id: String
    package var name: String
    package var version: String
    package var configuration: String
    /// How far it has read the list of revocations, and how many seconds ago.
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

/// On how many of the gateways something holds.
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

/// By which times gateways are judged, in seconds.
package enum ReplicaTimes {
    /// How often each says that it is alive.
    package static let heartbeat: Int64 = 2
    /// After how long one is lost that says nothing.
    package static let silence: Int64 = 10
    /// For how long those that have ended, and those that were lost, are remembered.
    package static let (endedMemory, lostMemory): (Int64, Int64) = (600, 3600)
}

/// The gateways that share their records.
package protocol ReplicaRecords: Sendable {
    /// Stores that a gateway is alive.
    func report(_ report: ReplicaReport) async throws
    /// Stores that a gateway has ended in good order.
    func end(_ id: String) async throws
    /// Finds gateways that are heard of no more, and opens once more the windows that were open when they were heard
    /// of last (``LostAnswers``): they may have answered nobody since. Each is found once, by one of the others.
    ///
    /// - Returns: the names of those that were found now.
    func takeUpLost() async throws -> [String]
    /// Those that are remembered, by name.
    func all() async throws -> [Replica]
    /// Forgets those of long ago, and none that may still serve.
    ///
    /// - Parameter silence: for how many seconds a gateway that is not heard of may serve.
    func removeGone(silence: Int64) async throws
    /// The changes of the list of revocations that are committed now.
    func position() async throws -> ChangePosition
    /// Those that have read all changes of a position.
    ///
    /// - Parameter silence: the gateways that count are those heard of within so many seconds: as long as one may serve
    ///   without the database.
    func confirmations(of position: ChangePosition, silence: Int64) async throws -> Confirmations
}
