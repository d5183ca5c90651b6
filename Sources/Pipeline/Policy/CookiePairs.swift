package import HTTPTypes

/// The cookies of a request (RFC 6265 §4.2.1), from all of its `Cookie` fields.
package struct CookiePairs: Sendable {
    private let pairs: [ArraySlice<UInt8>]

    package init(of request: HTTPRequest) {
        var pairs: [ArraySlice<UInt8>] = []
        for field in request.headerFields where field.name == .cookie {
            pairs += field.elements(separatedBy: ";")
        }
        self.pairs = pairs
    }

    /// The values of all cookies of this name, which is compared byte for byte.
    package func values(of name: String) -> [String] {
        pairs.compactMap { pair in
            guard Self.isNamed(pair, name) else { return nil }
            let value = pair.drop { $0 != UInt8(ascii: "=") }.dropFirst().withoutOuterBlanks
            return String(decoding: value, as: UTF8.self)
        }
    }

    /// The pairs of all other cookies, unchanged.
    func others(than name: String) -> [ArraySlice<UInt8>] {
        pairs.filter { !Self.isNamed($0, name) }
    }

    private static func isNamed(_ pair: ArraySlice<UInt8>, _ name: String) -> Bool {
        pair.prefix { $0 != UInt8(ascii: "=") }.withoutOuterBlanks.elementsEqual(name.utf8)
    }
}

/// The subprotocols that a client offers for a WebSocket (RFC 6455 §11.3.4), from all fields that list them.
struct Subprotocols {
    private let names: [ArraySlice<UInt8>]

    init(of request: HTTPRequest) {
        var names: [ArraySlice<UInt8>] = []
        for field in request.headerFields where field.name == .secWebSocketProtocol {
            names += field.elements(separatedBy: ",")
        }
        self.names = names
    }

    /// The subprotocol after each occurrence of this name.
    func tokens(behind name: String) -> [String] {
        zip(names, names.dropFirst()).compactMap { marker, token in
            marker.elementsEqual(name.utf8) ? String(decoding: token, as: UTF8.self) : nil
        }
    }

    /// The subprotocols without this one and the one after it.
    func others(than name: String) -> [ArraySlice<UInt8>] {
        var others: [ArraySlice<UInt8>] = []
        var isBehindMarker = false
        for each in names {
            let isMarker = each.elementsEqual(name.utf8)
            if !isMarker, !isBehindMarker { others.append(each) }
            isBehindMarker = isMarker
        }
        return others
    }
}
