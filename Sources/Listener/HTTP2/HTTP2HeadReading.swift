internal import HTTP1

/// The head or trailers whose fields are coming on a connection. Fields of another stream never come between.
struct HTTP2HeadReading {
    private let limits: HeadLimits
    private let scheme: String
    private var reader: HTTP2HeadReader?
    private(set) var areTrailers = false
    /// The `Authorization` that came last.
    private var repeated = RepeatedField()

    /// - Parameter scheme: `http` or `https`, by the listener's kind.
    init(limits: HeadLimits, scheme: String) {
        self.limits = limits
        self.scheme = scheme
    }

    mutating func begin(areTrailers: Bool) {
        reader = HTTP2HeadReader(limits: limits, scheme: scheme)
        self.areTrailers = areTrailers
    }

    /// - Returns: whether the rest is to be unpacked.
    mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        unsafe areTrailers
            ? reader?.takeTrailer(name, value) != false : reader?.take(name, value, repeating: &repeated) != false
    }

    /// All fields have come.
    mutating func end() -> HTTP2HeadReader? { reader.take() }

    /// Forgets the fields that requests had in common.
    mutating func forget() { repeated.forget() }
}
