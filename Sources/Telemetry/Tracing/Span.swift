/// A piece of work that took some time. Times are nanoseconds since 1970.
package struct Span: Sendable {
    /// OTLP's numbers.
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
        /// With a message, if there is one.
        case error(String?)
    }

    /// A moment of the span, such as that of an error.
    struct Event: Sendable {
        var name: String
        var time: Int64
        var attributes: Attributes
    }

    /// Another span that has to do with this one, of any trace.
    struct Link: Sendable {
        var ids: TraceIDs
        var attributes: Attributes
    }

    /// Counts of parts that a span had no room for.
    struct Dropped: Sendable, Equatable {
        var attributes = 0
        var events = 0
        var links = 0
    }

    package var ids: TraceIDs
    /// 0 where the trace begins with it.
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

/// A request's own spans: the request, its verification where there was one, and the backend's part. They are made of
/// its access record when they are sent, off the event loop.
package struct RequestSpans: Sendable {
    /// A part of a request, in microseconds from its start.
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
    /// The client's span; 0 where the trace begins here.
    package var parentID: UInt64
    package var verification: Part?
    package var upstream: Part?
    package var upstreamName: String?
    /// The URL of the server that had the request last, and the path of its unix socket; nil where there is none.
    package var serverURL: String?
    package var serverSocket: String?
    /// The pattern of the route taken.
    package var pattern: String?
    /// `http` or `https`, as the client had it.
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
