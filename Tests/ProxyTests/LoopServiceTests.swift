import HTTPTypes
import Testing

@testable import Listener
@testable import Pipeline
@testable import Proxy

@Suite("The parts of a loop's service")
struct LoopServiceTests {
    // MARK: Successors

    @Test(
        "A plan takes over the pools of the upstreams that it has in common with the one before, wherever they stand",
        arguments: [
            ([], [1, 2], [nil, nil], []),
            ([1, 2], [1, 2], [0, 1], []),
            ([1, 2, 3], [3, 1], [2, 0], [1]),
            ([1], [2], [nil], [0]),
            ([1, 2], [], [], [0, 1]),
            ([1, 2], [3, 2, 4], [nil, 1, nil], [0]),
        ] as [([UInt64], [UInt64], [Int?], [Int])])
    func pools(previous: [UInt64], next: [UInt64], taken: [Int?], left: [Int]) {
        let succession = PoolSuccession(from: previous, to: next)
        #expect(succession.taken == taken)
        #expect(succession.left == left)
        // Each pool of the plan before has exactly one fate.
        #expect((taken.compactMap { $0 } + left).sorted() == Array(previous.indices))
    }

    // MARK: Traces

    private static let trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
    private static let otherTrace = "00-ffffffffffffffffffffffffffffffff-0123456789abcdef-00"

    @Test("The client's trace goes on where it has one that is valid, and no other")
    func traces() throws {
        func fields(_ traces: [String], state: String? = nil) -> HTTPFields {
            var fields: HTTPFields = [.accept: Self.trace]
            for trace in traces { fields.append(HTTPField(name: .traceparent, value: trace)) }
            if let state { fields.append(HTTPField(name: .tracestate, value: state)) }
            return fields
        }
        let context = try #require(TraceContext(parsing: Self.trace))
        #expect(ClientTrace(fields([Self.trace])).context == context)
        let unusable = [[], ["x"], [Self.trace, Self.trace], [Self.trace, Self.otherTrace], ["x", Self.trace]]
        for traces in unusable { #expect(ClientTrace(fields(traces)).context == nil, "\(traces)") }
        #expect(!ClientTrace(fields([Self.trace])).hasState)
        #expect(ClientTrace(fields([], state: "a=b")).hasState)
        #expect(ClientTrace(fields([Self.trace], state: "")).hasState)
    }

    // MARK: Request ids

    @Test(
        "The first usable id of the client's is the request's",
        arguments: [
            ([], nil), (["a-1"], "a-1"), (["a", "b"], "a"), (["no id", "b"], "b"), (["", "é"], nil),
        ] as [([String], String?)])
    func requestIDs(sent: [String], expected: String?) {
        var fields: HTTPFields = [.accept: "c"]
        for id in sent { fields.append(HTTPField(name: .requestID, value: id)) }
        #expect(RequestID.accepted(from: fields) == expected)
    }

    // MARK: Requests in flight

    /// How many requests are counted, asked without changing it.
    private static func count(_ requests: RequestsInFlight) -> Int {
        var limit = 0
        while true {
            let hasRoom = requests.begin(limit: limit)
            requests.end(nil)
            if hasRoom { return limit - 1 }
            limit += 1
        }
    }

    private static func slots(_ address: String) throws -> AddressCounters {
        AddressCounters(of: try #require(IPAddress(address)))
    }

    @Test("Each request takes a place until its end, also one that finds none")
    func places() {
        let requests = RequestsInFlight()
        #expect(Self.count(requests) == 0)
        #expect([requests.begin(limit: 2), requests.begin(limit: 2), requests.begin(limit: 2)] == [true, true, false])
        #expect(Self.count(requests) == 3)
        for _ in 0..<3 { requests.end(nil) }
        #expect(Self.count(requests) == 0)
    }

    @Test("The end of a request frees its address's place, and only that of an address that was counted")
    func addresses() throws {
        let requests = RequestsInFlight()
        let address = try Self.slots("192.0.2.1")
        func begins() -> Bool {
            _ = requests.begin(limit: .max)
            return requests.byAddress.begin(address, limit: 1)
        }
        #expect(begins())
        #expect(!begins())
        requests.end(nil)
        #expect(!begins())
        requests.end(nil)
        requests.end(address)
        #expect(begins())
        requests.end(address)
        #expect(Self.count(requests) == 0)
    }

    @Test("A response that waits for its client keeps its places beyond all limits, and gives them back")
    func waitingResponses() throws {
        let requests = RequestsInFlight()
        let address = try Self.slots("2001:db8::1")
        let ends = (0..<3).map { _ in requests.hold(address) } + [requests.hold(nil)]
        #expect(Self.count(requests) == 4)
        #expect(!requests.byAddress.begin(address, limit: 3))
        for end in ends { end() }
        #expect(Self.count(requests) == 0)
        #expect(requests.byAddress.begin(address, limit: 1))
    }

    // MARK: Clients behind proxies

    @Test(
        "A client is counted by the address that a trusted proxy names; a proxy that names none is not counted",
        arguments: [
            // The peer is no proxy, or names itself.
            ("203.0.113.9", "203.0.113.9", "peer"), ("10.0.0.1", "10.0.0.1", "peer"),
            ("203.0.113.9", "10.0.0.1", "203.0.113.9"),
            // Another proxy behind the peer, and what is no address.
            ("10.0.0.2", "10.0.0.1", nil), ("unknown", "10.0.0.1", nil),
        ] as [(String, String, String?)])
    func clients(client: String, peer: String, counted: String?) throws {
        let proxies = try #require(TrustedProxies([try IPNetwork("10.0.0.0/8")]))
        let peerCounters = try Self.slots("198.51.100.1")
        let expected = try counted.map { $0 == "peer" ? peerCounters : try Self.slots($0) }
        #expect(proxies.slots(ofClient: client, peer: peer, at: peerCounters) == expected)
    }
}
