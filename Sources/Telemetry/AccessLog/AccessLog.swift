internal import Locking
internal import Synchronization

/// Writes access records from all event loops, formatted on a thread of its own.
///
/// Lines are written at most 100 ms after their requests ended, and all of them before ``shutdown()`` returns.
package final class AccessLog: Sendable {
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
    private let recorders = Locked<[AccessRecorder]>([])
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
        recorders.withLock { $0.append(recorder) }
        return recorder
    }

    /// Records that were not written, because writing had fallen behind or failed.
    package var lost: Int {
        recorders.withLock { $0 }.reduce(failed.load(ordering: .relaxed)) { $0 + $1.dropped }
    }

    /// Replaces the encoder and the output. Records made before are still written with the old ones.
    package func use(_ hashes: UserHashes?, _ format: LogFormat, write: @escaping @Sendable ([UInt8]) -> Int) {
        flush()
        writing.withLock { ($0.encoder, $0.write) = (AccessLogEncoder(hashes, format), write) }
    }

    /// Writes what has been recorded until now. It may block: not for event loops.
    package func flush() { _ = writeWaiting() }

    /// - Returns: whether there was anything to write. Where there was not, a recorder wakes the writer.
    private func writeWaiting() -> Bool {
        let recorders = recorders.withLock { $0 }
        return writing.withLock { writing in
            var isEmpty = true
            for recorder in recorders {
                recorder.exchange(&writing.records)
                if !writing.records.isEmpty { isEmpty = false }
                for index in writing.records.indices {
                    writing.encoder.encode(writing.records[index], into: &writing.lines)
                    if writing.lines.count >= Self.pieceBytes { writeOut(&writing) }
                }
                writing.records.removeAll(keepingCapacity: true)
            }
            writeOut(&writing)
            return !isEmpty
        }
    }

    /// Ends the writer and writes what is left. It may block. Records that come later wait for a ``flush()``.
    package func shutdown() {
        writer.stop()
        flush()
    }

    private func writeOut(_ writing: inout Writing) {
        guard !writing.lines.isEmpty else { return }
        let lost = writing.write(writing.lines)
        if lost > 0 { failed.add(lost, ordering: .relaxed) }
        writing.lines.removeAll(keepingCapacity: true)
    }
}
