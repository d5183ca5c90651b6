internal import HTTPTypes
internal import NIOCore

/// The field lines of one head or trailer section, parsed strictly (RFC 9112 §5).
struct FieldLines {
    /// The fields in the order received.
    ///
    /// Transfer-Encoding and Host are excluded: they are interpreted here, and written anew from the interpretation,
    /// never copied. Content-Length is included, since it is part of the message in every HTTP version.
    private(set) var list: [HTTPField] = []
    /// The fields that determine framing and the persistence of the connection.
    private(set) var framing = FramingFields()

    /// Parses `bytes`: complete lines, each ending in CRLF, without the final empty line.
    init(parsing bytes: UnsafeRawBufferPointer) throws(HTTP1Fault) {
        var none = RepeatedField()
        try unsafe self.init(parsing: bytes, repeating: &none)
    }

    /// - Parameter repeated: the connection's last `Authorization`; set to this request's if it has one.
    init(parsing bytes: UnsafeRawBufferPointer, repeating repeated: inout RepeatedField) throws(HTTP1Fault) {
        list.reserveCapacity(12)
        var position = 0
        while let line = try unsafe FieldLine(next: &position, in: bytes, repeating: repeated) {
            if unsafe line.isRepeated, let field = repeated.field {
                list.append(field)
            } else if let known = unsafe line.known {
                if try unsafe framing.take(known, line.value) { continue }
                let field = unsafe HTTPField(name: known.name, validValue: line.value)
                if known == .authorization { unsafe repeated.keep(field, length: line.value.count) }
                list.append(field)
            } else {
                guard let name = unsafe HTTPField.Name(String(decoding: line.name, as: UTF8.self)) else {
                    throw .malformedField
                }
                unsafe list.append(HTTPField(name: name, validValue: line.value))
            }
        }
    }

    var fields: HTTPFields { HTTPFields(list) }

    /// Validates the lines equally strictly, and copies those for the next hop.
    ///
    /// - Returns: nil instead of lines if `Connection` names unusual options, whose fields must be removed
    ///   individually.
    static func endToEnd(
        in bytes: UnsafeRawBufferPointer
    ) throws(HTTP1Fault) -> (framing: FramingFields, lines: EndToEndLines?) {
        var framing = FramingFields()
        var copy = ByteBufferAllocator().buffer(capacity: bytes.count)
        var (position, kept) = (0, 0)
        while true {
            let start = position
            guard let line = try unsafe FieldLine(next: &position, in: bytes, repeating: RepeatedField()) else { break }
            guard let known = unsafe line.known else { continue }
            let isUsedUp = try unsafe framing.take(known, line.value)
            guard isUsedUp || known.isNotCopied else { continue }
            if kept < start { unsafe copy.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[kept..<start])) }
            kept = position
        }
        if kept < bytes.count { unsafe copy.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[kept...])) }
        if framing.connectionOther { return (framing, nil) }
        return (framing, EndToEndLines(bytes: copy, contentLength: framing.contentLength, hasDate: framing.hasDate))
    }
}

/// A validated field line, which points into the head's bytes.
@unsafe private struct FieldLine {
    let name: UnsafeRawBufferPointer
    /// The value without surrounding whitespace.
    let value: UnsafeRawBufferPointer
    let known: KnownField?
    /// Whether the line repeats the connection's last `Authorization`.
    let isRepeated: Bool

    /// Parses the line at `position`, and advances `position` past it; nil at the end.
    init?(
        next position: inout Int, in bytes: UnsafeRawBufferPointer, repeating repeated: borrowing RepeatedField
    ) throws(HTTP1Fault) {
        guard position < bytes.count else { return nil }
        guard let feed = unsafe Grammar.firstLineFeed(in: bytes, from: position), feed > position else {
            throw .bareLineFeed
        }
        let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[position..<(feed - 1)])
        position = feed + 1
        guard let first = unsafe line.first else { throw .malformedField }
        // RFC 9112 §5.2: a line that begins with whitespace continues the previous one; it is rejected.
        guard first != Grammar.space, first != Grammar.tab else { throw .obsoleteFolding }
        guard let colon = unsafe line.firstIndex(of: Grammar.colon) else { throw .malformedField }
        unsafe name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        unsafe value = Grammar.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        unsafe known = KnownField.lookUp(name)
        guard unsafe known != nil || Grammar.isToken(name) else { throw .malformedField }
        unsafe isRepeated = known == .authorization && repeated.holds(value)
        // A repeated value was validated when it first arrived.
        guard unsafe isRepeated || Grammar.isFieldContent(value) else { throw .malformedField }
    }
}

/// The fields that determine a message's length and the persistence of its connection.
struct FramingFields {
    private(set) var host: String?
    private(set) var hostCount = 0
    private(set) var contentLength: Int?
    private(set) var transferEncodingCount = 0
    private(set) var isChunked = false
    /// Whether the last coding is `chunked`, regardless of those before.
    private(set) var endsInChunked = false
    private(set) var connectionClose = false
    private(set) var connectionKeepAlive = false
    private(set) var connectionUpgrade = false
    /// Whether `Connection` names any other option.
    private(set) var connectionOther = false
    private(set) var expectContinue = false
    private(set) var otherExpectation = false
    private(set) var hasDate = false

    /// Interprets `value` if `known` is one of these fields.
    ///
    /// - Returns: whether the field is consumed and must be excluded from the message's fields.
    mutating func take(_ known: KnownField, _ value: UnsafeRawBufferPointer) throws(HTTP1Fault) -> Bool {
        switch known {
        case .host:
            hostCount += 1
            host = unsafe String(decoding: value, as: UTF8.self)
            return true
        case .contentLength:
            // RFC 9112 §6.3: a repeated Content-Length may be rejected even if both are equal; only a single value is
            // accepted.
            guard contentLength == nil, let length = unsafe Self.length(value) else { throw .malformedContentLength }
            contentLength = length
            return false
        case .transferEncoding:
            transferEncodingCount += 1
            isChunked = unsafe Grammar.equals(value, ignoringCase: "chunked")
            unsafe endsInChunked = Grammar.endsInCoding(value, "chunked")
            return true
        case .connection:
            unsafe takeConnection(value)
            return false
        case .expect:
            // RFC 9110 §10.1.1 defines only one expectation.
            if unsafe Grammar.equals(value, ignoringCase: "100-continue") {
                expectContinue = true
            } else {
                otherExpectation = true
            }
            return false
        case .date:
            hasDate = true
            return false
        default:
            return false
        }
    }

    private mutating func takeConnection(_ value: UnsafeRawBufferPointer) {
        var rest = unsafe value[...]
        while unsafe !rest.isEmpty {
            let end = unsafe rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            let option = unsafe Grammar.trimmed(UnsafeRawBufferPointer(rebasing: rest[..<end]))
            unsafe rest = rest[min(end + 1, rest.endIndex)...]
            if unsafe Grammar.equals(option, ignoringCase: "close") {
                connectionClose = true
            } else if unsafe Grammar.equals(option, ignoringCase: "keep-alive") {
                connectionKeepAlive = true
            } else if unsafe Grammar.equals(option, ignoringCase: "upgrade") {
                connectionUpgrade = true
            } else if unsafe !option.isEmpty {
                connectionOther = true
            }
        }
    }

    /// Parses 1*DIGIT (RFC 9110 §8.6) up to 2^53: no sign, list, whitespace or overflow. Leading zeros are accepted;
    /// the value is written anew for the backend, without them.
    static func length(_ value: UnsafeRawBufferPointer) -> Int? {
        guard unsafe !value.isEmpty else { return nil }
        var length = 0
        for index in 0..<value.count {
            let byte = unsafe value[index]
            guard Grammar.isDigit(byte) else { return nil }
            length = length &* 10 &+ Int(byte &- 0x30)
            guard length <= 1 << 53 else { return nil }
        }
        return length
    }
}
