import HTTPTypes

/// A set of request methods as bits, so that looking one up hashes nothing.
struct MethodSet: Sendable {
    /// In the order `Allow` lists them; a method's bit is its position.
    private static let known: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
    /// Stands for every method that is in neither `known` nor `others`.
    private static let everyOther: UInt8 = 1 << 7

    private(set) var bits: UInt8 = 0
    private var others: [String] = []

    /// All methods for nil, otherwise exactly the given ones: GET adds no HEAD here.
    init(_ methods: Set<HTTPRequest.Method>?) {
        guard let methods else {
            bits = .max
            return
        }
        for method in methods {
            let bit = Self.bit(of: method)
            if bit == Self.everyOther {
                others.append(method.rawValue)
            } else {
                bits |= bit
            }
        }
        others.sort()
    }

    /// Whether the set holds a method whose ``bit(of:)`` is `bit`.
    @inline(__always)
    func contains(_ method: HTTPRequest.Method, bit: UInt8) -> Bool {
        if bits & bit != 0 { return true }
        return bit == Self.everyOther && others.contains(method.rawValue)
    }

    func overlaps(_ other: MethodSet) -> Bool {
        if bits & other.bits != 0 { return true }
        if bits & Self.everyOther != 0, !other.others.isEmpty { return true }
        if other.bits & Self.everyOther != 0, !others.isEmpty { return true }
        return others.contains(where: other.others.contains)
    }

    mutating func formUnion(_ other: MethodSet) {
        bits |= other.bits
        others = Set(others).union(other.others).sorted()
    }

    /// The methods as `Allow` lists them (RFC 9110 §10.2.1), HEAD with GET. Extension methods come last.
    var listed: [HTTPRequest.Method] {
        let all = bits & Self.bit(of: .get) != 0 ? bits | Self.bit(of: .head) : bits
        let named = Self.known.enumerated().filter { all & 1 << UInt8($0.offset) != 0 }.map(\.element)
        return named + others.compactMap { HTTPRequest.Method($0) }
    }

    static func bit(of method: HTTPRequest.Method) -> UInt8 {
        switch method.rawValue {
        case "GET": 1 << 0
        case "HEAD": 1 << 1
        case "POST": 1 << 2
        case "PUT": 1 << 3
        case "PATCH": 1 << 4
        case "DELETE": 1 << 5
        case "OPTIONS": 1 << 6
        default: everyOther
        }
    }
}
