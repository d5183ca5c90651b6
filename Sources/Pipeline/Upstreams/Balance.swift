/// The distribution of an upstream's requests among its servers.
package enum Balance: String, Sendable, CaseIterable {
    /// In turn, by weight.
    case roundRobin = "round_robin"
    /// To the server with the fewest requests in flight for its weight.
    case leastRequests = "least_requests"
    /// All requests of a subject to one server while it is available; in turn without a subject.
    case hashSubject = "hash_subject"
}
