internal import Locking

/// Encodes one kind of records as lines.
package protocol LineEncoder: Sendable {
    associatedtype Record: Sendable

    /// Appends the line, without its newline.
    mutating func encode(_ record: Record, into line: inout [UInt8])
}

/// Accepts records from any thread and writes them on a separate thread.
///
/// Lines are written at most 100 ms after their records, and before ``shutdown(within:)`` returns.
package final class QueuedLog<Encoder: LineEncoder>: Sendable {
    /// Receives complete lines, is never called concurrently, and returns the number of lost lines; it may block.
    package typealias Write = @Sendable ([UInt8]) -> Int

    private struct Waiting {
        var records: [Encoder.Record] = []
        /// The pending changes in their order.
        var changes: [Change] = []
        var lost = 0
        /// Whether the writer sleeps until a record arrives.
        var isAwaited = false
    }

    private struct Writing {
        var encoder: Encoder
        var write: Write
    }

    private struct Change {
        /// The number of waiting records that precede the change.
        var position: Int
        var next: Writing
    }

    private let waiting = Locked(Waiting())
    private let writing: Locked<Writing>
    private let capacity: Int
    private let writer: WriterThread

    /// - Parameters:
    ///   - name: the name of the thread.
    ///   - capacity: the maximum number of waiting records; further ones are dropped and counted.
    package init(name: String, capacity: Int, encoder: Encoder, write: @escaping Write) {
        self.capacity = max(1, capacity)
        writing = Locked(Writing(encoder: encoder, write: write))
        writer = WriterThread(name: name)
        writer.start(everyMilliseconds: 100) { [weak self] in self?.takeTurn() ?? false }
    }

    deinit {
        writer.stop()
    }

    /// The number of records that were not written, because writing fell behind or failed.
    package var lost: Int { waiting.withLock { $0.lost } }

    /// Never waits for writing.
    package func record(_ record: Encoder.Record) {
        let isAwaited = waiting.withLock { waiting in
            guard waiting.records.count < capacity else {
                waiting.lost += 1
                return false
            }
            waiting.records.append(record)
            defer { waiting.isAwaited = false }
            return waiting.isAwaited
        }
        if isAwaited { writer.wake() }
    }

    /// - Returns: whether there was anything to write.
    private func takeTurn() -> Bool {
        let isAwaited = waiting.withLock { waiting in
            waiting.isAwaited = waiting.records.isEmpty && waiting.changes.isEmpty
            return waiting.isAwaited
        }
        if !isAwaited { flush() }
        return !isAwaited
    }

    /// Makes the writer write all records now.
    func hurry() { writer.wake() }

    /// Replaces the encoder and the output. Lines recorded before are still written with the old ones.
    ///
    /// Never waits for writing.
    package func use(_ encoder: Encoder, write: @escaping Write) {
        waiting.withLock { waiting in
            let change = Change(position: waiting.records.count, next: Writing(encoder: encoder, write: write))
            // The previous change has nothing to write.
            if waiting.changes.last?.position == change.position { waiting.changes.removeLast() }
            waiting.changes.append(change)
        }
        writer.wake()
    }

    /// Writes all records made so far. It may block: do not call it on an event loop.
    package func flush() {
        writing.withLock { writing in
            let taken = waiting.withLock { waiting in
                defer { (waiting.records, waiting.changes) = ([], []) }
                return waiting
            }
            var start = 0
            for change in taken.changes {
                write(taken.records[start..<change.position], &writing)
                writing = change.next
                start = change.position
            }
            write(taken.records[start...], &writing)
        }
    }

    private func write(_ records: ArraySlice<Encoder.Record>, _ writing: inout Writing) {
        guard !records.isEmpty else { return }
        var lines: [UInt8] = []
        for record in records {
            writing.encoder.encode(record, into: &lines)
            lines.append(UInt8(ascii: "\n"))
        }
        let lost = writing.write(lines)
        guard lost > 0 else { return }
        waiting.withLock { $0.lost += lost }
    }

    /// Writes the remaining records and stops the writer. It may block for up to `limit`, for example if nobody reads
    /// the output. Records that are not written by then are dropped and counted. Later ones are kept until a
    /// ``flush()``.
    package func shutdown(within limit: Duration = .seconds(2)) {
        guard !writer.finish(within: limit) else { return }
        waiting.withLock { waiting in
            waiting.lost += waiting.records.count
            (waiting.records, waiting.changes) = ([], [])
        }
    }
}
