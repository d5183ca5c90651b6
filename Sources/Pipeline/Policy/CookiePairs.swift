internal import HTTPTypes

/// The cookies of a request (RFC 6265 §4.2.1), however many fields they are spread over.
struct CookiePairs {
    private let pairs: [Substring]

    init(of request: HTTPRequest) {
        var pairs: [Substring] = []
        for field in request.headerFields where field.name == .cookie {
            pairs += field.value.split(separator: ";").map(\.withoutOuterBlanks).filter { !$0.isEmpty }
        }
        self.pairs = pairs
    }

    /// The values of all cookies of this name, which is compared byte for byte.
    func values(of name: String) -> [String] {
        pairs.compactMap { pair in
            guard Self.name(of: pair).utf8.elementsEqual(name.utf8) else { return nil }
            return String(pair.drop { $0 != "=" }.dropFirst().withoutOuterBlanks)
        }
    }

    /// The pairs of all other cookies, as they came.
    func others(than name: String) -> [Substring] {
        pairs.filter { !Self.name(of: $0).utf8.elementsEqual(name.utf8) }
    }

    private static func name(of pair: Substring) -> Substring {
        pair.prefix { $0 != "=" }.withoutOuterBlanks
    }
}

/// The subprotocols that a client offers for a WebSocket (RFC 6455 §11.3.4), however many fields they are spread over.
struct Subprotocols {
    private let names: [Substring]

    init(of request: HTTPRequest) {
        var names: [Substring] = []
        for field in request.headerFields where field.name == .secWebSocketProtocol {
            names += field.value.split(separator: ",").map(\.withoutOuterBlanks).filter { !$0.isEmpty }
        }
        self.names = names
    }

    /// What stands behind each occurrence of this name.
    func tokens(behind name: String) -> [String] {
        markers(name).compactMap { $0 + 1 < names.count ? String(names[$0 + 1]) : nil }
    }

    /// The names without this one and what stands behind it.
    func others(than name: String) -> [Substring] {
        let markers = markers(name)
        return names.indices.filter { !markers.contains($0) && !markers.contains($0 - 1) }.map { names[$0] }
    }

    private func markers(_ name: String) -> [Int] {
        names.indices.filter { names[$0].utf8.elementsEqual(name.utf8) }
    }
}

extension Substring {
    fileprivate var withoutOuterBlanks: Substring {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var text = drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}
