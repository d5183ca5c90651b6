internal import Synchronization

/// Writes audit events from anywhere, formatted on a thread of its own.
///
/// Lines are written at most 100 ms after their events, and all of them before ``shutdown()`` returns.
package final class AuditLog: Sendable {
    private struct Waiting {
        var events: [AuditEvent] = []
        var dropped = 0
    }

    private struct Writing {
        var encoder: AuditEncoder
        var write: @Sendable ([UInt8]) -> Void
    }

    private let waiting = Mutex(Waiting())
    private let writing: Mutex<Writing>
    private let capacity: Int
    private let writer = WriterThread()

    /// - Parameters:
    ///   - capacity: how many events wait to be written; further ones are dropped and counted.
    ///   - write: gets whole lines, one call at a time; it may block.
    package init(_ hashes: AuditHashes, capacity: Int = 65_536, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.capacity = max(1, capacity)
        writing = Mutex(Writing(encoder: AuditEncoder(hashes), write: write))
        writer.start(everyMilliseconds: 100) { [weak self] in self?.flush() }
    }

    deinit {
        writer.stop()
    }

    /// Events that were dropped because the writer had fallen behind.
    package var dropped: Int { waiting.withLock { $0.dropped } }

    /// Never waits for the writing of anything.
    package func record(_ event: AuditEvent) {
        waiting.withLock { waiting in
            guard waiting.events.count < capacity else {
                waiting.dropped += 1
                return
            }
            waiting.events.append(event)
        }
    }

    /// From now on writes elsewhere, with other hashes. What has been recorded until now is written where it was to be.
    package func use(_ hashes: AuditHashes, write: @escaping @Sendable ([UInt8]) -> Void) {
        flush()
        writing.withLock { $0 = Writing(encoder: AuditEncoder(hashes), write: write) }
    }

    /// Writes what has been recorded until now. It may block: not for event loops.
    package func flush() {
        writing.withLock { writing in
            let events = waiting.withLock { waiting -> [AuditEvent] in
                defer { waiting.events = [] }
                return waiting.events
            }
            guard !events.isEmpty else { return }
            var lines: [UInt8] = []
            for event in events {
                writing.encoder.encode(event, into: &lines)
                lines.append(UInt8(ascii: "\n"))
            }
            writing.write(lines)
        }
    }

    /// Ends the writer and writes what is left. It may block. Events that come later wait for a ``flush()``.
    package func shutdown() {
        writer.stop()
        flush()
    }
}
