extension JSON {
    /// The value of a strict JSON text (RFC 8259, with the duplicate names and lone surrogates refused that RFC 7493
    /// forbids): UTF-8, no byte order mark, nothing behind the value.
    package static func parse(_ bytes: [UInt8], limits: JSONLimits = .default) throws(JSONError) -> JSON {
        guard bytes.count <= limits.maximumBytes else {
            throw JSONError(reason: .tooLarge, offset: limits.maximumBytes)
        }
        var parser = JSONParser(bytes: bytes, maximumDepth: limits.maximumDepth)
        let value = try parser.value(depth: 0)
        parser.skipWhitespace()
        guard parser.position == bytes.count else { throw parser.error(.trailingBytes) }
        return value
    }
}

/// A recursive descent over the bytes; the depth limit bounds the recursion.
struct JSONParser {
    let bytes: [UInt8]
    let maximumDepth: Int
    var position = 0

    func error(_ reason: JSONError.Reason) -> JSONError { JSONError(reason: reason, offset: position) }

    mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0a, 0x0d: position += 1
            default: return
            }
        }
    }

    /// The next byte without taking it.
    func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    /// Takes the next byte if it is this one.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func value(depth: Int) throws(JSONError) -> JSON {
        skipWhitespace()
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default: throw error(.unexpectedByte)
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        for byte in text.description.utf8 {
            guard try peek() == byte else { throw error(.unexpectedByte) }
            position += 1
        }
        return value
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSON] {
        guard depth <= maximumDepth else { throw error(.tooDeep) }
        position += 1
        skipWhitespace()
        var elements: [JSON] = []
        if take("]") { return elements }
        while true {
            elements.append(try value(depth: depth))
            skipWhitespace()
            if take("]") { return elements }
            guard take(",") else { throw position < bytes.count ? error(.unexpectedByte) : error(.unexpectedEnd) }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        guard depth <= maximumDepth else { throw error(.tooDeep) }
        position += 1
        skipWhitespace()
        var members: [(name: String, value: JSON)] = []
        var names = UniqueNames()
        if take("}") { return JSONObject() }
        while true {
            skipWhitespace()
            guard try peek() == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
            let name = try string()
            guard names.insert(name, besides: members) else { throw error(.duplicateName) }
            skipWhitespace()
            guard try peek() == UInt8(ascii: ":") else { throw error(.unexpectedByte) }
            position += 1
            members.append((name, try value(depth: depth)))
            skipWhitespace()
            if take("}") { return JSONObject(unique: members) }
            guard take(",") else { throw position < bytes.count ? error(.unexpectedByte) : error(.unexpectedEnd) }
        }
    }
}

/// Finds a repeated name: by comparing while there are few, by hashing once there are many, so that a hostile object
/// of thousands of names stays linear.
private struct UniqueNames {
    private var seen: Set<String> = []

    mutating func insert(_ name: String, besides members: [(name: String, value: JSON)]) -> Bool {
        if members.count < 24 { return !members.contains { $0.name == name } }
        if seen.isEmpty { seen = Set(members.map(\.name)) }
        return seen.insert(name).inserted
    }
}
