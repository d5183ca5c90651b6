internal import Locking
internal import Synchronization

/// Writes the access records of all event loops. A separate thread formats and writes them.
///
/// Lines are written at most 100 ms after their requests ended, and before ``shutdown(within:)`` returns.
package final class AccessLog: Sendable {
    private struct Waiting {
        var recorders: [AccessRecorder] = []
        /// Pending changes in their order. They precede all records in the recorders.
        var changes: [Change] = []
    }

    /// A change to another encoder and output, which takes effect after these records.
    private struct Change {
        var records: [AccessRecord] = []
        var encoder: AccessLogEncoder
        var write: @Sendable ([UInt8]) -> Int
    }

    /// The state of writing. The holder of the lock writes.
    private struct Writing {
        var encoder: AccessLogEncoder
        var write: @Sendable ([UInt8]) -> Int
        var records: [AccessRecord] = []
        var lines: [UInt8] = []
    }

    /// The approximate size in bytes of the pieces in which lines are written, so that a burst does not hold all of its
    /// text in memory at once.
    private static let pieceBytes = 64 << 10

    private let capacity: Int
    private let failed = Atomic(0)
    private let waiting = Locked(Waiting())
    private let writing: Locked<Writing>
    private let writer = WriterThread(name: "access-log")

    /// `write` receives complete lines, is never called concurrently, and returns the number of lost lines; it may
    /// block. Each recorder stores at most `capacity` unwritten records and drops further ones.
    package init(
        _ hashes: UserHashes?, _ format: LogFormat = .json, capacity: Int = 16_384,
        write: @escaping @Sendable ([UInt8]) -> Int
    ) {
        self.capacity = max(1, capacity)
        writing = Locked(Writing(encoder: AccessLogEncoder(hashes, format), write: write))
        writer.start(everyMilliseconds: 100) { [weak self] in self?.writeWaiting() ?? false }
    }

    deinit {
        writer.stop()
    }

    /// A recorder for one event loop.
    package func makeRecorder() -> AccessRecorder {
        let recorder = AccessRecorder(capacity: capacity) { [writer] in writer.wake() }
        waiting.withLock { $0.recorders.append(recorder) }
        return recorder
    }

    /// The number of records that were not written, because writing fell behind or failed.
    package var lost: Int {
        waiting.withLock { $0.recorders }.reduce(failed.load(ordering: .relaxed)) { $0 + $1.dropped }
    }

    /// Replaces the encoder and the output. Records made before are still written with the old ones.
    ///
    /// Never waits for writing. Earlier records stay queued within the recorders' total capacity; further ones are
    /// dropped and counted.
    package func use(_ hashes: UserHashes?, _ format: LogFormat, write: @escaping @Sendable ([UInt8]) -> Int) {
        waiting.withLock { waiting in
            var change = Change(encoder: AccessLogEncoder(hashes, format), write: write)
            for recorder in waiting.recorders {
                var records: [AccessRecord] = []
                recorder.exchange(&records)
                change.records += records
            }
            let room = capacity * waiting.recorders.count - waiting.changes.reduce(0) { $0 + $1.records.count }
            let dropped = max(0, change.records.count - room)
            change.records.removeLast(dropped)
            failed.add(dropped, ordering: .relaxed)
            // The previous change has nothing to write.
            if change.records.isEmpty, let unused = waiting.changes.popLast() { change.records = unused.records }
            waiting.changes.append(change)
        }
        writer.wake()
    }

    /// Writes all records made so far. It may block: do not call it on an event loop.
    package func flush() { _ = writeWaiting() }

    /// - Returns: whether there was anything to write. If not, the next record wakes the writer.
    private func writeWaiting() -> Bool {
        let recorders = waiting.withLock { $0.recorders }
        return writing.withLock { writing in
            var isEmpty = true
            for recorder in recorders {
                let changes = take(from: recorder, &writing.records)
                if !(changes.isEmpty && writing.records.isEmpty) { isEmpty = false }
                for change in changes {
                    encode(change.records, &writing)
                    writeOut(&writing)
                    (writing.encoder, writing.write) = (change.encoder, change.write)
                }
                encode(writing.records, &writing)
                writing.records.removeAll(keepingCapacity: true)
            }
            writeOut(&writing)
            return !isEmpty
        }
    }

    /// Exchanges a recorder's records for an empty array.
    ///
    /// - Returns: the changes that precede all of these records.
    private func take(from recorder: AccessRecorder, _ records: inout [AccessRecord]) -> [Change] {
        waiting.withLock { waiting in
            recorder.exchange(&records)
            defer { waiting.changes = [] }
            return waiting.changes
        }
    }

    private func encode(_ records: [AccessRecord], _ writing: inout Writing) {
        for index in records.indices {
            writing.encoder.encode(records[index], into: &writing.lines)
            if writing.lines.count >= Self.pieceBytes { writeOut(&writing) }
        }
    }

    /// Writes the remaining records and stops the writer. It may block for up to `limit`, for example if nobody reads
    /// the output. Records that are not written by then are dropped and counted. Later ones are kept until a
    /// ``flush()``.
    package func shutdown(within limit: Duration = .seconds(2)) {
        guard !writer.finish(within: limit) else { return }
        let left = waiting.withLock { waiting in
            defer { waiting.changes = [] }
            return waiting.recorders.reduce(waiting.changes.reduce(0) { $0 + $1.records.count }) { sum, recorder in
                var records: [AccessRecord] = []
                recorder.exchange(&records)
                return sum + records.count
            }
        }
        failed.add(left, ordering: .relaxed)
    }

    private func writeOut(_ writing: inout Writing) {
        guard !writing.lines.isEmpty else { return }
        let lost = writing.write(writing.lines)
        if lost > 0 { failed.add(lost, ordering: .relaxed) }
        writing.lines.removeAll(keepingCapacity: true)
    }
}
