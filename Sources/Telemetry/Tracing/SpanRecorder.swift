internal import Locking
package import Pipeline

/// The place where the spans of sampled traces go, and the rule by which traces are sampled.
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
    /// Traces whose last 56 bits are below this are sampled: all gateways of one share decide alike.
    private let threshold: UInt64
    private let followsClient: Bool

    /// - Parameters:
    ///   - share: of traces that are sampled, from 0 to 1.
    ///   - followsClient: whether the client's own decision holds for its traces.
    package init(share: Double, followsClient: Bool) {
        threshold = UInt64(share * Double(UInt64(1) << 56))
        self.followsClient = followsClient
    }

    /// Whether a trace is sampled that begins here.
    package func samples(_ traceID: UInt128) -> Bool {
        UInt64(truncatingIfNeeded: traceID) & (1 << 56 - 1) < threshold
    }

    /// Whether a trace of the client's is sampled.
    ///
    /// - Parameter random: decides where the client is not followed, since the client chooses its trace's id.
    package func samples(_ context: TraceContext, random: UInt64) -> Bool {
        followsClient ? context.isSampled : samples(UInt128(random))
    }
}

/// The tracing in use, for what outlasts a reading of the settings.
package final class CurrentTracing: Sendable {
    private let current = Locked<SpanRecorder?>(nil)

    package init() {}

    /// Nil while nothing is traced.
    package var recorder: SpanRecorder? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
