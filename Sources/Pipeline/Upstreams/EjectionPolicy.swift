package import NIOCore

/// When a server that fails real requests is left alone, and how it comes back.
///
/// The defaults are those of Envoy's outlier detection where it has such a setting (`consecutive_gateway_failure`,
/// `max_ejection_percent`, `max_ejection_time`). Its reason holds here too: ejection is for a server that is unlike the
/// others. If all fail alike, the cause is what they share, or a client, and ejecting them all makes it worse.
package struct EjectionPolicy: Sendable, Equatable {
    /// Failures in a row that eject; 0: never.
    package var after: Int
    /// Responses that count as failures, beside connections that fail and answers that do not come. In order, so that
    /// equal policies are equal.
    package var statuses: [Int]
    /// Of how many different paths the requests must be that failed once they were sent. One path may fail by itself.
    package var paths: Int
    /// Of how many different clients they must be. One client may be after just that.
    package var clients: Int
    /// The percentage of the servers that may be ejected at once, of which one always may; servers that refuse
    /// connections do not count against it.
    package var largestShare: Int
    /// Whether the last server that takes requests is ejected as well, so that clients hear at once that it fails.
    package var ejectsLastServer: Bool
    /// How long the first time; doubled each further time.
    package var first: TimeAmount
    package var longest: TimeAmount
    /// Over how long a server that comes back gets its whole share again.
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
