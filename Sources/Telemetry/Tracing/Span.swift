/// A traced operation. Times are nanoseconds since 1970.
package struct Span: Sendable {
    /// The kind of a span, with OTLP's numbers.
    package enum Kind: UInt8, Sendable {
        case `internal` = 1
        case server = 2
        case client = 3
        case producer = 4
        case consumer = 5
    }

    package enum Value: Sendable, Equatable {
        case text(String)
        case boolean(Bool)
        case number(Int64)
        case real(Double)
        case list([Value])
    }

    package typealias Attributes = [(name: String, value: Value)]

    package enum Status: Sendable, Equatable {
        case unset
        case ok
        /// With an optional message.
        case error(String?)
    }

    /// A timestamped event of the span, such as an error.
    struct Event: Sendable {
        var name: String
        var time: Int64
        var attributes: Attributes
    }

    /// A link to a related span of any trace.
    struct Link: Sendable {
        var ids: TraceIDs
        var attributes: Attributes
    }

    /// The numbers of attributes, events and links beyond the limits of a span.
    struct Dropped: Sendable, Equatable {
        var attributes = 0
        var events = 0
        var links = 0
    }

    package var ids: TraceIDs
    /// 0 if the span is the root of its trace.
    package var parentID: UInt64
    package var name: String
    package var kind: Kind
    package var start: Int64
    package var end: Int64
    package var attributes: Attributes
    package var status: Status
    var events: [Event] = []
    var links: [Link] = []
    var dropped = Dropped()

    /// - Parameter end: nil if it has not ended yet.
    package init(
        ids: TraceIDs, parentID: UInt64, name: String, kind: Kind, start: Int64, end: Int64? = nil,
        attributes: Attributes = [], status: Status = .unset
    ) {
        self.ids = ids
        self.parentID = parentID
        self.name = name
        self.kind = kind
        self.start = start
        self.end = end ?? start
        self.attributes = attributes
        self.status = status
    }
}

/// The spans of one request: the request, the token's verification if there was one, and the exchange with the backend.
/// They are encoded from the access record when they are sent, off the event loop.
package struct RequestSpans: Sendable {
    /// A part of a request. Times are microseconds, and the start is relative to the request's.
    package struct Part: Sendable {
        package var spanID: UInt64
        package var start: Int64
        package var duration: Int64

        package init(spanID: UInt64, start: Int64, duration: Int64) {
            self.spanID = spanID
            self.start = start
            self.duration = duration
        }
    }

    package var record: AccessRecord
    package var ids: TraceIDs
    /// The id of the client's span; 0 if the trace begins here.
    package var parentID: UInt64
    package var verification: Part?
    package var upstream: Part?
    package var upstreamName: String?
    /// The URL of the last server that received the request, and the path of its Unix socket; nil if there is none.
    package var serverURL: String?
    package var serverSocket: String?
    /// The path pattern of the matching route.
    package var pattern: String?
    /// The client's scheme, `http` or `https`.
    package var scheme: String?

    package init(
        record: AccessRecord, ids: TraceIDs, parentID: UInt64, verification: Part? = nil, upstream: Part? = nil,
        upstreamName: String? = nil
    ) {
        self.record = record
        self.ids = ids
        self.parentID = parentID
        self.verification = verification
        self.upstream = upstream
        self.upstreamName = upstreamName
    }
}
