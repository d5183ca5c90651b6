internal import Encoding

/// A host of a route: exact, or `*.example.com` for every name with exactly one additional label.
package struct RouteHost: Sendable, Hashable, CustomStringConvertible {
    /// In lower case; for a wildcard, the part after `*.`.
    let name: ExactText
    let isWildcard: Bool

    /// - Parameter text: a host name, `*.` and a domain, or an IP address, as ``normal(_:)`` would give it.
    package init(_ text: String) {
        isWildcard = text.utf8.starts(with: "*.".utf8)
        name = ExactText(isWildcard ? String(Substring(text.utf8.dropFirst(2))) : text)
    }

    package var description: String { isWildcard ? "*.\(name)" : name.text }

    /// The host of a request in the form in which hosts are compared: without port and trailing dots, in lower case
    /// (RFC 9110 §4.2.3, RFC 3986 §3.2.2).
    ///
    /// - Parameter authority: a valid `host` or `host:port`; nil if the request names none.
    package static func normal(_ authority: String?) -> String? {
        guard let authority, let first = authority.utf8.first else { return nil }
        if first == UInt8(ascii: "[") {
            return IPAddress(Substring(authority.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") }))?.description
        }
        var host = authority.utf8.prefix { $0 != UInt8(ascii: ":") }
        while host.last == UInt8(ascii: ".") { host.removeLast() }
        return host.isEmpty ? nil : String(Substring(host)).asciiLowercased
    }
}

/// The tries of route patterns by host. A host is matched like a first segment of the path: exact before `*.` before
/// any. If a host has no pattern for the path, the next one is tried.
struct RouteHosts: Sendable {
    /// The tries of a request's host, besides the one for any host; -1 for none.
    struct Position {
        fileprivate var exact = -1
        fileprivate var wildcard = -1
    }

    private let anyHost: RouteTrie
    private var tries: [RouteTrie] = []
    private var exact: [ExactText: Int] = [:]
    private var wildcards: [ExactText: Int] = [:]

    /// - Parameter shapes: a shape's number is its index. No two shapes may be equal.
    init(_ shapes: [(host: RouteHost?, pattern: RoutePattern)]) {
        var patterns: [[(shape: Int, pattern: RoutePattern)]] = []
        var open: [(shape: Int, pattern: RoutePattern)] = []
        for (number, shape) in shapes.enumerated() {
            guard let host = shape.host else {
                open.append((number, shape.pattern))
                continue
            }
            let known = host.isWildcard ? wildcards[host.name] : exact[host.name]
            let position = known ?? patterns.count
            if known == nil {
                patterns.append([])
                if host.isWildcard { wildcards[host.name] = position } else { exact[host.name] = position }
            }
            patterns[position].append((number, shape.pattern))
        }
        anyHost = RouteTrie(open)
        tries = patterns.map { RouteTrie($0) }
    }

    /// The tries for a request with this authority. Positions are the same for tries of the same hosts.
    @inline(__always)
    func position(of authority: @autoclosure () -> String?) -> Position {
        tries.isEmpty ? Position() : lookUp(authority())
    }

    private func lookUp(_ authority: String?) -> Position {
        guard let host = RouteHost.normal(authority) else { return Position() }
        var position = Position(exact: exact[ExactText(host)] ?? -1)
        if !wildcards.isEmpty, let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot != host.utf8.startIndex {
            position.wildcard = wildcards[ExactText(String(Substring(host.utf8[dot...].dropFirst())))] ?? -1
        }
        return position
    }

    /// The number of the shape that matches a path in normal form; nil if none does.
    @inline(__always)
    func find(_ path: borrowing Span<UInt8>, at position: Position) -> Int? {
        if position.exact >= 0, let shape = tries[position.exact].find(path) { return shape }
        if position.wildcard >= 0, let shape = tries[position.wildcard].find(path) { return shape }
        return anyHost.find(path)
    }
}
