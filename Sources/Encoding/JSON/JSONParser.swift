extension JSON {
    /// Parses a strict JSON text: UTF-8, no byte order mark, nothing after the value (RFC 8259). Duplicate names and
    /// lone surrogates, which RFC 7493 forbids, are refused.
    package static func parse(_ bytes: [UInt8], limits: JSONLimits = .default) throws(JSONError) -> JSON {
        try JSONDocument(bytes, limits: limits).value(at: 0)
    }
}

/// A recursive-descent parser of the bytes; the depth limit bounds the recursion.
struct JSONParser {
    let bytes: [UInt8]
    let maximumDepth: Int
    var position = 0
    private(set) var nodes: [JSONNode] = []
    /// The strings that are stored decoded.
    private(set) var texts: [String] = []

    init(bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func parse() throws(JSONError) {
        // A token has about one node for each twenty bytes.
        nodes.reserveCapacity(8 + bytes.count / 16)
        try value(depth: 0)
        skipWhitespace()
        guard position == bytes.count else { throw error(.trailingBytes) }
    }

    func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: position) }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0a, 0x0d: position += 1
            default: return
            }
        }
    }

    /// The next byte, without consuming it.
    func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    /// Consumes the next byte if it is this one.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    // MARK: Nodes

    /// Adds a node without contents: the bytes from `start` to `end`.
    mutating func add(_ kind: JSONNode.Kind, from start: Int, to end: Int) {
        nodes.append(
            JSONNode(kind: kind, start: UInt32(start), end: UInt32(end), next: UInt32(nodes.count + 1)))
    }

    mutating func add(decoded text: String) {
        add(.otherText, from: texts.count, to: texts.count)
        texts.append(text)
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(JSONError) {
        skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"): try object(depth: depth + 1)
        case UInt8(ascii: "["): try array(depth: depth + 1)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true", .true)
        case UInt8(ascii: "f"): try literal("false", .false)
        case UInt8(ascii: "n"): try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: throw error(.unexpectedByte)
        }
    }

    private mutating func literal(_ text: StaticString, _ kind: JSONNode.Kind) throws(JSONError) {
        let start = position
        for byte in text.description.utf8 {
            guard try peek() == byte else { throw error(.unexpectedByte) }
            position += 1
        }
        add(kind, from: start, to: position)
    }

    private mutating func array(depth: Int) throws(JSONError) {
        let index = try open(.array, depth: depth)
        if take("]") { return }
        repeat {
            try value(depth: depth)
            nodes[index].next = UInt32(nodes.count)
        } while try !ends(with: "]")
    }

    private mutating func object(depth: Int) throws(JSONError) {
        let index = try open(.object, depth: depth)
        if take("}") { return }
        var names = JSONNames(ofObjectAt: index)
        repeat {
            skipWhitespace()
            guard try peek() == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
            try string()
            guard isNew(&names) else { throw error(.duplicateName) }
            skipWhitespace()
            guard try peek() == UInt8(ascii: ":") else { throw error(.unexpectedByte) }
            position += 1
            try value(depth: depth)
            nodes[index].next = UInt32(nodes.count)
        } while try !ends(with: "}")
    }

    /// Consumes the opening bracket, adds its node and returns the node's index.
    private mutating func open(_ kind: JSONNode.Kind, depth: Int) throws(JSONError) -> Int {
        guard depth <= maximumDepth else { throw error(.tooDeep) }
        add(kind, from: position, to: position + 1)
        position += 1
        skipWhitespace()
        return nodes.count - 1
    }

    /// Consumes the comma after an element, or the closing bracket. Returns whether it was the bracket.
    private mutating func ends(with bracket: Unicode.Scalar) throws(JSONError) -> Bool {
        skipWhitespace()
        if take(bracket) { return true }
        guard take(",") else { throw position < bytes.count ? error(.unexpectedByte) : error(.unexpectedEnd) }
        return false
    }
}
