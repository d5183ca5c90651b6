/// Numbers of a database that is a server, for metrics.
package struct StoreReadings: Sendable {
    /// Connections that are there, and those of them that nobody uses.
    package var open: Int
    package var idle: Int
    package var connecting: Int
    /// Callers that wait for a connection.
    package var waiting: Int
    /// How many connections were made, and how many could not be, since the start.
    package var made: Int
    package var failed: Int
    /// The limits of ``durations`` in seconds.
    package var limits: [Double]
    /// How many statements took at most as long as each limit, and longer than the one before; the last number is of
    /// those that took longer.
    package var durations: [Int]
    /// Seconds of all statements.
    package var total: Double
    /// Failed statements by their cause, each cause once.
    package var errors: [(cause: String, count: Int)]

    package init(
        open: Int, idle: Int, connecting: Int, waiting: Int, made: Int, failed: Int, limits: [Double],
        durations: [Int], total: Double, errors: [(cause: String, count: Int)]
    ) {
        self.open = open
        self.idle = idle
        self.connecting = connecting
        self.waiting = waiting
        self.made = made
        self.failed = failed
        self.limits = limits
        self.durations = durations
        self.total = total
        self.errors = errors
    }
}
