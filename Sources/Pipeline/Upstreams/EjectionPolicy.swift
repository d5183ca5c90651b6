package import NIOCore

/// The ejection of a server that fails real requests, and its return.
///
/// The defaults are those of Envoy's outlier detection where it has such a setting (`consecutive_gateway_failure`,
/// `max_ejection_percent`, `max_ejection_time`). Envoy's reason applies here too: ejection is for a server that differs
/// from the others. If all fail alike, the cause is shared, or is a client, and ejecting them all makes it worse.
package struct EjectionPolicy: Sendable, Equatable {
    /// The number of consecutive failures that ejects a server; 0: never.
    package var after: Int
    /// The statuses of responses that count as failures, in addition to failed connections and missing responses.
    /// Sorted, so that equal policies compare equal.
    package var statuses: [Int]
    /// The minimum number of different paths among the requests that failed after they were sent. A single path may be
    /// at fault.
    package var paths: Int
    /// The minimum number of different clients among them. A single client may intend an ejection.
    package var clients: Int
    /// The maximum percentage of servers ejected at once, and always at least one server. Servers that refuse
    /// connections do not count against it.
    package var largestShare: Int
    /// Whether the last available server is ejected as well, so that clients learn of its failure at once.
    package var ejectsLastServer: Bool
    /// The duration of the first ejection, which each further one doubles.
    package var first: TimeAmount
    package var longest: TimeAmount
    /// The time over which a returning server regains its full share.
    package var slowReturn: TimeAmount

    package init(
        after: Int = 5, statuses: [Int] = [502, 503, 504], paths: Int = 2, clients: Int = 2, largestShare: Int = 10,
        ejectsLastServer: Bool = false, first: TimeAmount = .seconds(10), longest: TimeAmount = .seconds(300),
        slowReturn: TimeAmount = .seconds(30)
    ) {
        self.after = after
        self.statuses = statuses
        self.paths = paths
        self.clients = clients
        self.largestShare = largestShare
        self.ejectsLastServer = ejectsLastServer
        self.first = first
        self.longest = longest
        self.slowReturn = slowReturn
    }
}
