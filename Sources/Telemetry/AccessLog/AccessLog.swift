internal import Locking
internal import Synchronization

/// Writes access records from all event loops, formatted on a thread of its own.
///
/// Lines are written at most 100 ms after their requests ended, and before ``shutdown(within:)`` returns.
package final class AccessLog: Sendable {
    private struct Waiting {
        var recorders: [AccessRecorder] = []
        /// In their order, and before everything that the recorders have.
        var changes: [Change] = []
    }

    /// Another encoder and output, for what comes after these records.
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

    /// Lines are handed over in pieces of about this size, so that a burst doesn't hold all of its text at once.
    private static let pieceBytes = 64 << 10

    private let capacity: Int
    private let failed = Atomic(0)
    private let waiting = Locked(Waiting())
    private let writing: Locked<Writing>
    private let writer = WriterThread(name: "access-log")

    /// `write` gets whole lines, one call at a time, and returns how many of them were lost; it may block. Each
    /// recorder keeps at most `capacity` records that are not written yet and drops further ones.
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

    /// Records that were not written, because writing had fallen behind or failed.
    package var lost: Int {
        waiting.withLock { $0.recorders }.reduce(failed.load(ordering: .relaxed)) { $0 + $1.dropped }
    }

    /// Replaces the encoder and the output. Records made before are still written with the old ones.
    ///
    /// Never waits for the writing of anything. Of the records made before, as many as the recorders have room for wait
    /// to be written; further ones are dropped and counted.
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
            // The one before has nothing to write.
            if change.records.isEmpty, let unused = waiting.changes.popLast() { change.records = unused.records }
            waiting.changes.append(change)
        }
        writer.wake()
    }

    /// Writes what has been recorded until now. It may block: not for event loops.
    package func flush() { _ = writeWaiting() }

    /// - Returns: whether there was anything to write. Where there was not, a recorder wakes the writer.
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
    /// - Returns: the changes that came before all of them.
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

    /// Has what is left written, and ends the writer. It may block for up to `limit`, as where nobody reads the output:
    /// records that are not written by then are dropped and counted. Later ones wait for a ``flush()``.
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
