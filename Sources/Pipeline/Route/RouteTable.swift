package import HTTPTypes

/// All routes, compiled once for matching. A request without a route is ``Match/none`` and must not be forwarded.
package struct RouteTable: Sendable {
    /// The result of matching a request.
    package enum Match: Sendable, Equatable {
        /// The position in ``RouteTable/routes``.
        case route(index: Int)
        /// A pattern matches the path, but no route of it has the method (405). `Allow` lists these methods.
        case methodNotAllowed(allow: [HTTPRequest.Method])
        /// No pattern matches the path (404).
        case none
    }

    /// The routes of one pattern at one host.
    private struct Shape {
        var host: RouteHost?
        var pattern: RoutePattern
        var rules: [(methods: MethodSet, route: Int)] = []
        var allow: [HTTPRequest.Method] = []
    }

    /// The routes as given.
    package let routes: [Route]
    private let shapes: [Shape]
    private let hosts: RouteHosts
    /// Nil if no route's backend ignores case.
    private let folded: FoldedRoutes?

    /// Compiles the table. Throws if two routes have the same name, if two routes of the same pattern have overlapping
    /// methods, if two patterns differ only in case before a backend that ignores it, or if a route has a method that
    /// is never routed.
    ///
    /// The gateway's own endpoints are added to every host, so that no wider route of a host takes their requests.
    package init(_ routes: [Route]) throws(RouteError) {
        var draft = Draft(routes)
        var names: Set<String> = []
        var methods: [MethodSet] = []
        for (index, route) in routes.enumerated() {
            guard names.insert(route.name).inserted else {
                throw RouteError("two routes are named \"\(route.name)\"")
            }
            methods.append(try Self.methods(of: route))
            for host in route.hosts.map({ $0.map(Optional.some) }) ?? [nil] {
                try draft.add(index, at: host, methods[index])
            }
        }
        for (index, route) in routes.enumerated() where route.isAtEveryHost {
            for other in draft.shapes where other.host != nil && other.pattern.meets(route.pattern) {
                try draft.add(index, at: other.host, methods[index])
            }
        }
        var shapes = draft.shapes
        for position in shapes.indices {
            var all = MethodSet([])
            for rule in shapes[position].rules { all.formUnion(rule.methods) }
            shapes[position].allow = all.listed
        }
        self.routes = routes
        self.shapes = shapes
        self.hosts = RouteHosts(shapes.map { ($0.host, $0.pattern) })
        self.folded = try Self.folded(shapes, routes)
    }

    /// The shapes while the table is compiled.
    private struct Draft {
        let routes: [Route]
        var shapes: [Shape] = []
        var positions: [HostedPattern: Int] = [:]

        init(_ routes: [Route]) { self.routes = routes }

        /// Adds a route at a host, unless it is there already.
        mutating func add(_ route: Int, at host: RouteHost?, _ methods: MethodSet) throws(RouteError) {
            let pattern = routes[route].pattern
            let key = HostedPattern(host: host, pattern: pattern.bytes)
            let position = positions[key] ?? shapes.count
            if position == shapes.count {
                positions[key] = position
                shapes.append(Shape(host: host, pattern: pattern))
            }
            guard !shapes[position].rules.contains(where: { $0.route == route }) else { return }
            if let rival = shapes[position].rules.first(where: { $0.methods.overlaps(methods) }) {
                throw RouteError(
                    "routes \"\(routes[rival.route].name)\" and \"\(routes[route].name)\" both take "
                        + "\"\(host?.description ?? "")\(pattern)\" with the same method")
            }
            shapes[position].rules.append((methods, route))
        }
    }

    private static func folded(_ shapes: [Shape], _ routes: [Route]) throws(RouteError) -> FoldedRoutes? {
        let ignoring = shapes.indices.filter { index in shapes[index].rules.contains { routes[$0.route].ignoresCase } }
        guard !ignoring.isEmpty else { return nil }
        for folding in PathFolding.allCases {
            let same = Dictionary(grouping: shapes.indices) { index in
                HostedPattern(host: shapes[index].host, pattern: shapes[index].pattern.folded(folding).bytes)
            }
            for index in ignoring {
                let pattern = shapes[index].pattern
                let key = HostedPattern(host: shapes[index].host, pattern: pattern.folded(folding).bytes)
                guard let other = same[key]?.first(where: { $0 != index }) else { continue }
                throw RouteError(
                    "\"\(shapes[min(index, other)].pattern)\" and \"\(shapes[max(index, other)].pattern)\" are the same "
                        + "to an upstream whose paths are case_insensitive")
            }
        }
        return FoldedRoutes(shapes.map { ($0.host, $0.pattern) })
    }

    private struct HostedPattern: Hashable {
        let host: RouteHost?
        let pattern: [UInt8]
    }

    /// Finds the route for a request.
    ///
    /// The most specific pattern alone decides: a method it lacks is not allowed, even if a wider pattern would take
    /// it. CONNECT and TRACE (RFC 9110 §9.3.6, §9.3.8) never match a route. A path that some software reads differently
    /// matches only if all of its readings have the same pattern; before a backend that ignores case, also in every
    /// folding.
    ///
    /// - Parameter authority: the host that the request names, with an optional port; nil for none. It is not evaluated
    ///   if no route has hosts.
    package func match(
        method: HTTPRequest.Method, path: borrowing RequestPath, authority: @autoclosure () -> String? = nil
    ) -> Match {
        let position = hosts.position(of: authority())
        guard let shape = path.withBytes({ hosts.find($0, at: position) }) else { return .none }
        if path.hasOtherReading {
            for reading in path.otherReadings() where hosts.find(reading.span, at: position) != shape { return .none }
        }
        let match = select(method, in: shape)
        if let folded, case .route(let index) = match, routes[index].ignoresCase,
            !folded.agree(on: shape, for: path, at: position)
        {
            return .none
        }
        return match
    }

    @inline(__always)
    private func select(_ method: HTTPRequest.Method, in shape: Int) -> Match {
        let bit = MethodSet.bit(of: method)
        if method != .connect, method != .trace {
            for rule in shapes[shape].rules where rule.methods.contains(method, bit: bit) {
                return .route(index: rule.route)
            }
            // RFC 9110 §9.3.2: a route that takes GET also takes HEAD, unless another route takes HEAD.
            if method == .head {
                let get = MethodSet.bit(of: .get)
                for rule in shapes[shape].rules where rule.methods.contains(.get, bit: get) {
                    return .route(index: rule.route)
                }
            }
        }
        return .methodNotAllowed(allow: shapes[shape].allow)
    }

    private static func methods(of route: Route) throws(RouteError) -> MethodSet {
        if let methods = route.methods {
            if methods.isEmpty { throw RouteError("route \"\(route.name)\" takes no method") }
            for method in [HTTPRequest.Method.connect, .trace] where methods.contains(method) {
                throw RouteError("route \"\(route.name)\" names \(method.rawValue), which is never routed")
            }
        }
        return MethodSet(route.methods)
    }
}
