package import Tracing

/// A span of a library.
package struct GatewaySpan: Tracing.Span {
    package let context: ServiceContext
    /// Nil if the span is not sampled.
    private let recording: SpanRecording?

    init(_ context: ServiceContext, _ recording: SpanRecording? = nil) {
        self.context = context
        self.recording = recording
    }

    package var isRecording: Bool { recording?.hasEnded == false }

    package var operationName: String {
        get { recording?.operationName ?? "" }
        nonmutating set { recording?.setOperationName(newValue) }
    }

    package var attributes: SpanAttributes {
        get { recording?.attributes ?? [:] }
        nonmutating set { recording?.setAttributes(newValue) }
    }

    package func setStatus(_ status: SpanStatus) { recording?.setStatus(status) }

    package func addEvent(_ event: SpanEvent) { recording?.add(event) }

    package func addLink(_ link: SpanLink) { recording?.add(link) }

    /// Adds the event `exception` of OpenTelemetry's conventions. The error's text is left out: it may name users.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        guard let recording else { return }
        var attributes = attributes
        attributes["exception.type"] = String(describing: type(of: error))
        recording.add(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard let recording else { return }
        recording.end(instant().nanoseconds)
    }
}
