internal import Locking

/// Buffers one event loop's access records until the log's writer collects them.
///
/// Recording appends to an array under a lock. Only the writer contends for that lock, ten times a second and for the
/// duration of a swap. If the writer falls behind, records are dropped and counted; the event loop never waits.
package final class AccessRecorder: Sendable {
    private struct Buffer {
        var records: [AccessRecord] = []
        var dropped = 0
        /// Whether the writer found no records at its last visit. It may sleep then, so the next record wakes it.
        var wasEmpty = true
    }

    private let buffer: Locked<Buffer>
    private let capacity: Int
    private let wakingCount: Int
    private let wake: @Sendable () -> Void

    init(capacity: Int, wake: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.wakingCount = max(1, capacity / 2)
        self.wake = wake
        buffer = Locked(Buffer())
    }

    /// Adds the record of a request that has ended.
    package func record(_ record: consuming AccessRecord) {
        let record = record
        let isAwaited = buffer.withLock { buffer in
            guard buffer.records.count < capacity else {
                buffer.dropped += 1
                return false
            }
            buffer.records.append(record)
            defer { buffer.wasEmpty = false }
            return buffer.wasEmpty || buffer.records.count == wakingCount
        }
        if isAwaited { wake() }
    }

    /// Exchanges the records for an empty array, whose memory is reused for the next ones.
    func exchange(_ records: inout [AccessRecord]) {
        buffer.withLock { buffer in
            swap(&buffer.records, &records)
            buffer.wasEmpty = records.isEmpty
        }
    }

    var dropped: Int {
        buffer.withLock { $0.dropped }
    }
}
