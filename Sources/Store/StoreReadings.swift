/// Metrics of a database server.
package struct StoreReadings: Sendable {
    /// Open connections, and how many of them are idle.
    package var open: Int
    package var idle: Int
    package var connecting: Int
    /// Callers that wait for a connection.
    package var waiting: Int
    /// Connections opened, and failed attempts, since the start.
    package var made: Int
    package var failed: Int
    /// The histogram bounds of ``durations``, in seconds.
    package var limits: [Double]
    /// The number of statements in each bucket: at most as long as its bound and longer than the previous one. The last
    /// number counts statements longer than all bounds.
    package var durations: [Int]
    /// The total duration of all statements, in seconds.
    package var total: Double
    /// Failed statements by cause; each cause occurs once.
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
