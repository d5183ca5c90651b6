internal import Locking
internal import Synchronization

/// A bounded queue of spans to be sent.
package final class SpanQueue: Sendable {
    /// The contents of one delivery.
    package struct Batch: Sendable {
        package var requests: [RequestSpans] = []
        package var spans: [Span] = []

        package var isEmpty: Bool { requests.isEmpty && spans.isEmpty }
        /// The number of all spans in the batch.
        package var spanCount: Int { requests.reduce(spans.count) { $0 + $1.spanCount } }
    }

    private let waiting = Locked(Batch())
    private let capacity: Int
    private let isClosed = Atomic(false)
    private let tally: ExportTally
    private let wake: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: the maximum number of queued requests and other spans; further ones are lost.
    ///   - wake: called when the queue becomes half full.
    package init(capacity: Int, tally: ExportTally, wake: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.tally = tally
        self.wake = wake
    }

    /// Adds the requests of an event loop and empties its array, which keeps its capacity.
    package func add(_ requests: inout [RequestSpans]) {
        let (lost, isHalfFull) = waiting.withLock { waiting -> (ArraySlice<RequestSpans>, Bool) in
            let before = waiting.requests.count + waiting.spans.count
            let room = isClosed.load(ordering: .relaxed) ? 0 : max(0, capacity - before)
            waiting.requests.append(contentsOf: requests.prefix(room))
            return (requests.dropFirst(room), Self.passesHalf(before, requests.count, capacity))
        }
        if !lost.isEmpty { tally.lost(lost.reduce(0) { $0 + $1.spanCount }) }
        requests.removeAll(keepingCapacity: true)
        if isHalfFull { wake() }
    }

    package func add(_ span: Span) {
        let (isTaken, isHalfFull) = waiting.withLock { waiting -> (Bool, Bool) in
            let before = waiting.requests.count + waiting.spans.count
            guard before < capacity, !isClosed.load(ordering: .relaxed) else { return (false, false) }
            waiting.spans.append(span)
            return (true, Self.passesHalf(before, 1, capacity))
        }
        if !isTaken { tally.lost(1) }
        if isHalfFull { wake() }
    }

    /// Closes the queue. Spans that are added later are lost.
    package func close() { isClosed.store(true, ordering: .relaxed) }

    private static func passesHalf(_ before: Int, _ added: Int, _ capacity: Int) -> Bool {
        before < capacity / 2 && before + added >= capacity / 2
    }

    /// Removes and returns at most `count` requests and spans.
    package func take(_ count: Int) -> Batch {
        waiting.withLock { waiting in
            var batch = Batch()
            let requests = min(count, waiting.requests.count)
            if requests == waiting.requests.count {
                swap(&batch.requests, &waiting.requests)
            } else {
                batch.requests = Array(waiting.requests.prefix(requests))
                waiting.requests.removeFirst(requests)
            }
            let spans = min(count - requests, waiting.spans.count)
            batch.spans = Array(waiting.spans.prefix(spans))
            waiting.spans.removeFirst(spans)
            return batch
        }
    }
}

extension RequestSpans {
    package var spanCount: Int { 1 + (verification == nil ? 0 : 1) + (upstream == nil ? 0 : 1) }
}
