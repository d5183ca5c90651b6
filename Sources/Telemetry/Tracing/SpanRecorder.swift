internal import Locking
package import Pipeline

/// The queue of sampled spans, and the sampler.
package struct SpanRecorder: Sendable {
    package let sampler: TraceSampler
    package let queue: SpanQueue

    package init(sampler: TraceSampler, queue: SpanQueue) {
        self.sampler = sampler
        self.queue = queue
    }
}

/// Decides which traces are sampled.
package struct TraceSampler: Sendable {
    /// Traces whose lowest 56 bits are below this value are sampled, so that all gateways with the same share decide
    /// alike.
    private let threshold: UInt64
    private let followsClient: Bool

    /// - Parameters:
    ///   - share: the share of sampled traces, from 0 to 1.
    ///   - followsClient: whether the client's decision applies to its traces.
    package init(share: Double, followsClient: Bool) {
        threshold = UInt64(share * Double(UInt64(1) << 56))
        self.followsClient = followsClient
    }

    /// Whether a trace that begins here is sampled.
    package func samples(_ traceID: UInt128) -> Bool {
        UInt64(truncatingIfNeeded: traceID) & (1 << 56 - 1) < threshold
    }

    /// Whether a client's trace is sampled.
    ///
    /// - Parameter random: a random number that decides if the client's decision does not apply, because clients choose
    ///   their trace ids.
    package func samples(_ context: TraceContext, random: UInt64) -> Bool {
        followsClient ? context.isSampled : samples(UInt128(random))
    }
}

/// The current tracing, for objects that outlive a reload.
package final class CurrentTracing: Sendable {
    private let current = Locked<SpanRecorder?>(nil)

    package init() {}

    /// Nil if tracing is off.
    package var recorder: SpanRecorder? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
