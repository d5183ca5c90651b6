/// The subset of CBOR that authenticators use (CTAP 2.1, 8): definite lengths, shortest forms, no tags, no floats.
enum CBOR: Equatable, Sendable {
    case unsigned(UInt64)
    /// The integer −1 minus the value.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    case map([Member])
    case bool(Bool)
    case null

    struct Member: Equatable, Sendable {
        var key: CBOR
        var value: CBOR
    }

    /// A small integer, like all labels of COSE.
    static func integer(_ value: Int64) -> CBOR {
        value < 0 ? .negative(UInt64(-1 - value)) : .unsigned(UInt64(value))
    }

    var bytesValue: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var textValue: String? { if case .text(let text) = self { text } else { nil } }
    var mapValue: [Member]? { if case .map(let members) = self { members } else { nil } }

    /// The member of a map with this key.
    subscript(_ key: CBOR) -> CBOR? { mapValue?.first { $0.key == key }?.value }
    subscript(_ key: String) -> CBOR? { self[.text(key)] }
}

/// The error for bytes that are not in this subset of CBOR.
struct InvalidCBOR: Error, Equatable {}

/// Reads one value (RFC 8949), strictly: ambiguous encodings are refused.
struct CBORReader {
    /// An attestation object has at most 4 levels.
    private static let maximumDepth = 6

    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) { rest = ArraySlice(bytes) }

    /// Parses bytes that must be exactly one value.
    static func value(of bytes: some Collection<UInt8>) throws(InvalidCBOR) -> CBOR {
        var reader = CBORReader(bytes)
        let value = try reader.read()
        guard reader.rest.isEmpty else { throw InvalidCBOR() }
        return value
    }

    mutating func read(depth: Int = 0) throws(InvalidCBOR) -> CBOR {
        guard depth <= Self.maximumDepth, let head = rest.popFirst() else { throw InvalidCBOR() }
        let argument = try argument(head & 0x1F)
        switch head >> 5 {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(Array(try take(argument)))
        case 3:
            guard let text = String(validating: try take(argument), as: UTF8.self) else { throw InvalidCBOR() }
            return .text(text)
        case 4: return try array(argument, depth)
        case 5: return try map(argument, depth)
        case 7: return try simple(head)
        default: throw InvalidCBOR()
        }
    }

    private mutating func array(_ count: UInt64, _ depth: Int) throws(InvalidCBOR) -> CBOR {
        // Each element takes at least a byte, so a false count reserves no memory.
        guard count <= UInt64(rest.count) else { throw InvalidCBOR() }
        var elements: [CBOR] = []
        for _ in 0..<count { elements.append(try read(depth: depth + 1)) }
        return .array(elements)
    }

    private mutating func map(_ count: UInt64, _ depth: Int) throws(InvalidCBOR) -> CBOR {
        guard count <= UInt64(rest.count / 2) else { throw InvalidCBOR() }
        var members: [CBOR.Member] = []
        for _ in 0..<count {
            let key = try read(depth: depth + 1)
            guard !members.contains(where: { $0.key == key }) else { throw InvalidCBOR() }
            members.append(CBOR.Member(key: key, value: try read(depth: depth + 1)))
        }
        return .map(members)
    }

    private func simple(_ head: UInt8) throws(InvalidCBOR) -> CBOR {
        switch head {
        case 0xF4: .bool(false)
        case 0xF5: .bool(true)
        case 0xF6: .null
        default: throw InvalidCBOR()
        }
    }

    /// Reads an argument, which must be in its shortest form (RFC 8949, 4.2.1).
    private mutating func argument(_ information: UInt8) throws(InvalidCBOR) -> UInt64 {
        guard information >= 24 else { return UInt64(information) }
        guard information <= 27 else { throw InvalidCBOR() }
        let count = 1 << Int(information - 24)
        let value = try take(UInt64(count)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let smallest: UInt64 = count == 1 ? 24 : 1 << (UInt64(count) * 4)
        guard value >= smallest else { throw InvalidCBOR() }
        return value
    }

    private mutating func take(_ count: UInt64) throws(InvalidCBOR) -> ArraySlice<UInt8> {
        guard count <= UInt64(rest.count) else { throw InvalidCBOR() }
        let taken = rest.prefix(Int(count))
        rest = rest.dropFirst(Int(count))
        return taken
    }
}
