/// How an upstream's requests are shared out among its servers.
package enum Balance: String, Sendable, CaseIterable {
    /// In turn, by weight.
    case roundRobin = "round_robin"
    /// To the server with the fewest requests in flight for its weight.
    case leastRequests = "least_requests"
    /// One subject's requests to one server, as long as it serves; without a subject in turn.
    case hashSubject = "hash_subject"
}
