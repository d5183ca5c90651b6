import Dispatch
import Synchronization
import Testing

@testable import Telemetry

/// Collects what a log writes.
final class Sink: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    var write: @Sendable ([UInt8]) -> Int {
        { lines in
            self.bytes.withLock { $0 += lines }
            return 0
        }
    }

    var lines: [Substring] {
        String(decoding: bytes.withLock { $0 }, as: UTF8.self).split(separator: "\n")
    }
}

@Suite("Access log")
struct AccessLogTests {
    @Test("Each recorder's lines come in order and whole")
    func order() async {
        let sink = Sink()
        let log = AccessLog(AuditLogTests.hashes, write: sink.write)
        await withTaskGroup { group in
            for loop in 0..<4 {
                let recorder = log.makeRecorder()
                group.addTask {
                    for number in 0..<2000 { recorder.record(record(requestID: "\(loop)-\(number)")) }
                }
            }
        }
        log.shutdown(within: .seconds(60))
        let lines = sink.lines
        #expect(lines.count == 8000)
        for loop in 0..<4 {
            let own = lines.filter { $0.contains("\"request_id\":\"\(loop)-") }
            let isOrdered = own.enumerated().allSatisfy { $1.contains("\"\(loop)-\($0)\"") }
            #expect(own.count == 2000 && isOrdered)
        }
        #expect(log.lost == 0)
    }

    @Test("Lines are written without being asked for")
    func interval() async {
        let (lines, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let log = AccessLog(AuditLogTests.hashes) { lines in
            continuation.yield(lines)
            return 0
        }
        log.makeRecorder().record(record(requestID: "alone"))
        var iterator = lines.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first.map { String(decoding: $0, as: UTF8.self) }?.contains("alone") == true)
        log.shutdown(within: .seconds(60))
    }

    @Test("A stalled writer costs records, not time, and they are counted")
    func overflow() {
        let sink = Sink()
        let gate = Gate()
        let log = AccessLog(AuditLogTests.hashes, capacity: 10) { lines in
            gate.wait()
            return sink.write(lines)
        }
        let recorder = log.makeRecorder()
        // The writer takes at most one batch of ten before it stands at the gate, so of 100 at least 80 are dropped.
        for number in 0..<100 { recorder.record(record(requestID: "\(number)")) }
        #expect(log.lost >= 80)
        gate.open()
        log.shutdown(within: .seconds(60))
        #expect(sink.lines.count + log.lost == 100)
        recorder.record(record(requestID: "later"))
        log.flush()
        #expect(sink.lines.last?.contains("later") == true)
    }

    @Test("A change of place does not wait for a write that stalls, and what there is no room for meanwhile is counted")
    func stalledChange() {
        let (first, second, third) = (StalledSink(), Sink(), Sink())
        let log = AccessLog(AuditLogTests.hashes, capacity: 10, write: first.write)
        let recorders = [log.makeRecorder(), log.makeRecorder()]
        recorders[0].record(record(requestID: "stalls"))
        first.awaitWrite()
        let returns = endsInTime {
            for recorder in recorders { recorder.record(record(requestID: "before")) }
            log.use(AuditLogTests.hashes, .json) { _ in 100 }
            log.use(AuditLogTests.hashes, .json, write: second.write)
            for recorder in recorders {
                for _ in 0..<10 { recorder.record(record(requestID: "between")) }
            }
            log.use(AuditLogTests.hashes, .json, write: third.write)
            for recorder in recorders { recorder.record(record(requestID: "after")) }
        }
        #expect(returns)
        first.open()
        log.shutdown(within: .seconds(60))
        #expect(first.lines.count == 3 && first.lines.dropFirst().allSatisfy { $0.contains("before") })
        #expect(second.lines.count == 18 && second.lines.allSatisfy { $0.contains("between") })
        #expect(third.lines.count == 2 && third.lines.allSatisfy { $0.contains("after") })
        #expect(log.lost == 2)
    }

    @Test("Shutting down does not wait for a write that stalls, and counts the records behind it as lost")
    func stalledEnd() {
        let sink = StalledSink()
        let log = AccessLog(AuditLogTests.hashes, write: sink.write)
        let recorder = log.makeRecorder()
        recorder.record(record(requestID: "stalls"))
        sink.awaitWrite()
        for _ in 0..<2 { recorder.record(record(requestID: "before")) }
        log.use(AuditLogTests.hashes, .json, write: sink.write)
        recorder.record(record(requestID: "after"))
        let returns = endsInTime { log.shutdown() }
        #expect(returns && log.lost == 3)
        sink.open()
        log.shutdown(within: .seconds(60))
        #expect(sink.lines.count == 1 && log.lost == 3)
    }

    @Test("A large burst is written in pieces of whole lines")
    func pieces() {
        let pieces = Mutex<[[UInt8]]>([])
        let log = AccessLog(AuditLogTests.hashes, capacity: 100_000) { lines in
            pieces.withLock { $0.append(lines) }
            return 0
        }
        let recorder = log.makeRecorder()
        for _ in 0..<5000 { recorder.record(record()) }
        log.shutdown(within: .seconds(60))
        let written = pieces.withLock { $0 }
        #expect(written.allSatisfy { $0.last == 0x0A && $0.count < 80 << 10 })
        #expect(written.reduce(0) { $0 + $1.count { $0 == 0x0A } } == 5000)
    }

    @Test("Lines that could not be written are counted")
    func failing() {
        let log = AccessLog(AuditLogTests.hashes) { $0.count { $0 == 0x0A } }
        for _ in 0..<3 { log.makeRecorder().record(record()) }
        log.shutdown(within: .seconds(60))
        #expect(log.lost == 3)
    }

    @Test("Shutting down twice writes nothing twice")
    func twice() {
        let sink = Sink()
        let log = AccessLog(AuditLogTests.hashes, write: sink.write)
        log.makeRecorder().record(record())
        log.shutdown(within: .seconds(60))
        log.shutdown(within: .seconds(60))
        #expect(sink.lines.count == 1)
    }
}

/// Keeps threads waiting until it is opened.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    func wait() {
        semaphore.wait()
        semaphore.signal()
    }
}

/// Collects what a log writes once it is opened, and stalls until then.
final class StalledSink: Sendable {
    private let sink = Sink()
    private let gate = Gate()
    private let arrivals = DispatchSemaphore(value: 0)

    var write: @Sendable ([UInt8]) -> Int {
        { [self] lines in
            arrivals.signal()
            gate.wait()
            return sink.write(lines)
        }
    }

    var lines: [Substring] { sink.lines }

    /// Returns when a write stalls.
    func awaitWrite() { arrivals.wait() }

    func open() { gate.open() }
}

/// Whether `body` ends within ten seconds, on a thread of its own.
func endsInTime(_ body: @escaping @Sendable () -> Void) -> Bool {
    let end = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
        body()
        end.signal()
    }
    return end.wait(timeout: .now() + 10) == .success
}
