import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import Proxy
@testable import Telemetry

@Suite("Stalls of an event loop", .serialized, .timeLimit(.minutes(1)))
struct LoopWatchTests {
    /// Seconds of a clock.
    static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Lets a loop compute for so long at a time, and says how many stalls were counted.
    ///
    /// - Parameter seconds: what it computes itself, however long the processors are busy with others meanwhile.
    static func stalls(of seconds: Double, times: Int) throws -> Int {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let metrics = LoopMetrics(MetricsLabels(routes: [], upstreams: [], denialReasons: []))
        metrics.connectionOpened()
        let watch = try loop.submit { NIOLoopBound(LoopWatch(loop, metrics: metrics), eventLoop: loop) }.wait()
        for number in 0..<times {
            // Each begins at another time after the watch has looked.
            let pause = TimeAmount.microseconds(20_000 + Int64(number) * 10_000 / Int64(times))
            try loop.scheduleTask(in: pause) {
                let end = Self.seconds(CLOCK_THREAD_CPUTIME_ID) + seconds
                while Self.seconds(CLOCK_THREAD_CPUTIME_ID) < end {}
            }.futureResult.wait()
        }
        // The last one is counted with the look after it.
        try loop.scheduleTask(in: .milliseconds(20)) {}.futureResult.wait()
        try loop.submit { watch.value.close() }.wait()
        return Int(metrics.stalls.value)
    }

    /// A loop and its watch.
    struct Watched {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let metrics = LoopMetrics(MetricsLabels(routes: [], upstreams: [], denialReasons: []))
        let watch: NIOLoopBound<LoopWatch>
        var loop: any EventLoop { group.next() }

        init() throws {
            let (loop, metrics) = (group.next(), metrics)
            watch = try loop.submit { NIOLoopBound(LoopWatch(loop, metrics: metrics), eventLoop: loop) }.wait()
        }

        func close() throws {
            try loop.submit { [watch] in watch.value.close() }.wait()
            try group.syncShutdownGracefully()
        }

        /// Lets the loop be silent for so long.
        func pass(milliseconds: Int64) throws {
            try loop.scheduleTask(in: .milliseconds(milliseconds)) {}.futureResult.wait()
        }

        /// How often the loop has gone to sleep.
        func sleeps() throws -> Int {
            try loop.submit {
                var usage = rusage()
                _ = unsafe getrusage(1, &usage)  // RUSAGE_THREAD (getrusage(2)), which Glibc does not export
                return usage.ru_nvcsw
            }.wait()
        }
    }

    @Test("A loop whose clients are silent is not woken a hundred times a second")
    func idle() throws {
        let watched = try Watched()
        for _ in 0..<100 { watched.metrics.connectionOpened() }
        try watched.pass(milliseconds: 200)
        let before = try watched.sleeps()
        try watched.pass(milliseconds: 500)
        #expect(try watched.sleeps() - before < 15)
        try watched.close()
    }

    @Test("A stall that ends a silence is counted, whenever in the silence it begins")
    func afterSilence() throws {
        let watched = try Watched()
        watched.metrics.connectionOpened()
        for number in 0..<10 {
            try watched.pass(milliseconds: 200 + Int64(number) * 10)
            let before = watched.metrics.stalls.value
            try watched.loop.submit {
                watched.watch.value.workBegan()
                let end = Self.seconds(CLOCK_THREAD_CPUTIME_ID) + 0.0505
                while Self.seconds(CLOCK_THREAD_CPUTIME_ID) < end {}
            }.wait()
            try watched.pass(milliseconds: 20)
            #expect(watched.metrics.stalls.value == before + 1)
        }
        try watched.close()
    }

    @Test("A request that waits for its backend keeps the watch awake, and an open WebSocket does not")
    func waiting() throws {
        let watched = try Watched()
        watched.metrics.requestBegan()
        try watched.pass(milliseconds: 500)
        try watched.loop.submit {
            let end = Self.seconds(CLOCK_THREAD_CPUTIME_ID) + 0.0505
            while Self.seconds(CLOCK_THREAD_CPUTIME_ID) < end {}
        }.wait()
        try watched.pass(milliseconds: 20)
        #expect(watched.metrics.stalls.value == 1)
        watched.metrics.webSocketOpened()
        try watched.pass(milliseconds: 200)
        let before = try watched.sleeps()
        try watched.pass(milliseconds: 500)
        #expect(try watched.sleeps() - before < 15)
        try watched.close()
    }

    @Test("Each of more than 50 ms is counted, whenever it begins, and none that is clearly shorter")
    func counted() throws {
        #expect(try Self.stalls(of: 0.0505, times: 20) == 20)
        #expect(try Self.stalls(of: 0.03, times: 20) == 0)
    }
}
