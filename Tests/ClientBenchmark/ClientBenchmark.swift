internal import Foundation
internal import GatehouseClient

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// The cost of a request with the session's token through GatehouseClient, beside URLSession with the same headers: CPU
/// time of this process and time on the wall, medians of interleaved rounds against a server on 127.0.0.1.
@main
struct ClientBenchmark {
    /// The most that the client may cost, in requests of URLSession's own.
    private static let highestRatio = 1.05

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.contains("serve") { return try LoopbackServer.run() }
        let isShort = arguments.contains("--short")
        let (server, url) = try startServer()
        defer { server.terminate() }
        let results = try await measured(url, rounds: isShort ? 3 : 41, size: isShort ? 20 : 200)
        for (name, pairs) in results {
            let (client, bare) = (median(pairs.map(\.client)), median(pairs.map(\.bare)))
            print("\(text(bare)) µs  URLSession, \(name)")
            print("\(text(client)) µs  GatehouseClient, \(name)")
            let ratio = median(pairs.map { $0.client / $0.bare })
            print("\(text(ratio)) ×   GatehouseClient / URLSession, \(name) (at most \(highestRatio))")
            if arguments.contains("--check"), ratio > highestRatio { exit(1) }
        }
    }

    private typealias Pair = (client: Double, bare: Double)

    private static func measured(_ url: URL, rounds: Int, size: Int) async throws -> [(String, [Pair])] {
        let gatehouse = Gatehouse(Configuration(url: url), store: Unstored())
        try await gatehouse.signIn("ada@example.com", password: "Correct-Horse-7-Battery")
        let request = gatehouse.request("/api/v1/orders")
        let signed = try await gatehouse.signed(request)
        let session = URLSession(configuration: .ephemeral)
        let client = { @Sendable in try await gatehouse.data(for: request).0.count }
        let bare = { @Sendable in try await session.data(for: signed).0.count }
        var (cpu, wall): ([Pair], [Pair]) = ([], [])
        for round in 0..<(rounds + 2) {
            // Each goes first in every other round.
            let first = try await time(size, round % 2 == 0 ? client : bare)
            let second = try await time(size, round % 2 == 0 ? bare : client)
            let (ours, theirs) = round % 2 == 0 ? (first, second) : (second, first)
            // The first two connect, and fill caches.
            guard round >= 2 else { continue }
            cpu.append((ours.cpu, theirs.cpu))
            wall.append((ours.wall, theirs.wall))
        }
        return [("CPU time", cpu), ("wall time", wall)]
    }

    /// Microseconds a request.
    private static func time(
        _ size: Int, _ send: @Sendable () async throws -> Int
    ) async throws -> (cpu: Double, wall: Double) {
        let start = (cpu: microseconds(CLOCK_PROCESS_CPUTIME_ID), wall: microseconds(CLOCK_MONOTONIC))
        for _ in 0..<size where try await send() != 271 { throw URLError(.cannotParseResponse) }
        return (
            (microseconds(CLOCK_PROCESS_CPUTIME_ID) - start.cpu) / Double(size),
            (microseconds(CLOCK_MONOTONIC) - start.wall) / Double(size)
        )
    }

    private static func microseconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
    }

    private static func text(_ value: Double) -> String { String(format: "%8.2f", value) }

    private static func startServer() throws -> (Process, URL) {
        let server = Process()
        let output = Pipe()
        server.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        server.arguments = ["serve"]
        server.standardOutput = output
        try server.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = UInt16(line.prefix(while: \.isNumber)), let url = URL(string: "http://127.0.0.1:\(port)")
        else {
            throw URLError(.cannotConnectToHost)
        }
        return (server, url)
    }
}

/// A store that keeps nothing: the session is in memory.
private struct Unstored: SessionStore {
    func read() -> Data? { nil }
    func replace(_: Data?, with _: Data?) -> Bool { true }
}
