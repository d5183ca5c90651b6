internal import Synchronization

/// Writes access records from all event loops, formatted on a thread of its own.
///
/// Lines are written at most 100 ms after their requests ended, and all of them before ``shutdown()`` returns.
package final class AccessLog: Sendable {
    /// What one writing needs; whoever holds the lock writes.
    private struct Writing {
        var encoder = AccessLogEncoder()
        var records: [AccessRecord] = []
        var lines: [UInt8] = []
    }

    /// Lines are handed over in pieces of about this size, so that a burst doesn't hold all of its text at once.
    private static let pieceBytes = 64 << 10

    private let write: @Sendable ([UInt8]) -> Void
    private let capacity: Int
    private let recorders = Mutex<[AccessRecorder]>([])
    private let writing = Mutex(Writing())
    private let writer = WriterThread()

    /// `write` gets whole lines, one call at a time; it may block. Each recorder keeps at most `capacity` records that
    /// are not written yet and drops further ones.
    package init(capacity: Int = 16_384, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.capacity = max(1, capacity)
        self.write = write
        writer.start(everyMilliseconds: 100) { [weak self] in self?.flush() }
    }

    deinit {
        writer.stop()
    }

    /// A recorder for one event loop.
    package func makeRecorder() -> AccessRecorder {
        let recorder = AccessRecorder(capacity: capacity) { [writer] in writer.wake() }
        recorders.withLock { $0.append(recorder) }
        return recorder
    }

    /// Records that were dropped because the writer had fallen behind.
    package var dropped: Int {
        recorders.withLock { $0 }.reduce(0) { $0 + $1.dropped }
    }

    /// Writes what has been recorded until now. It may block: not for event loops.
    package func flush() {
        let recorders = recorders.withLock { $0 }
        writing.withLock { writing in
            for recorder in recorders {
                recorder.exchange(&writing.records)
                for record in writing.records {
                    writing.encoder.encode(record, into: &writing.lines)
                    if writing.lines.count >= Self.pieceBytes { writeOut(&writing.lines) }
                }
                writing.records.removeAll(keepingCapacity: true)
            }
            writeOut(&writing.lines)
        }
    }

    /// Ends the writer and writes what is left. It may block. Records that come later wait for a ``flush()``.
    package func shutdown() {
        writer.stop()
        flush()
    }

    private func writeOut(_ lines: inout [UInt8]) {
        guard !lines.isEmpty else { return }
        write(lines)
        lines.removeAll(keepingCapacity: true)
    }
}
