internal import Encoding
package import HTTPTypes

/// The web pages that may call a route from a browser: CORS (Fetch standard, 3.2), answered by the gateway alone.
package struct CrossOrigin: Sendable, Equatable {
    package enum Origins: Sendable, Equatable {
        /// Serialised origins such as `https://app.example`, compared byte for byte.
        case listed(Set<String>)
        /// Every page; never together with credentials (Fetch standard, 3.2.5).
        case any
    }

    package var origins: Origins
    /// The methods a page may use; nil: those of the route, or ``usualMethods`` if the route takes all methods.
    package var methods: Set<HTTPRequest.Method>?
    /// The request headers a page may set beyond the safelisted ones, in lower case.
    package var headers: Set<String>
    /// The response headers a page may read beyond the safelisted ones.
    package var exposedHeaders: [String]
    /// Whether pages may send the browser's own cookies and `Authorization` along.
    package var credentials: Bool
    /// The time for which a browser may cache a preflight's response, in seconds.
    package var maximumAge: Int64

    package init(
        origins: Origins, methods: Set<HTTPRequest.Method>?, headers: Set<String>, exposedHeaders: [String] = [],
        credentials: Bool = false, maximumAge: Int64 = 600
    ) {
        self.origins = origins
        self.methods = methods
        self.headers = headers
        self.exposedHeaders = exposedHeaders
        self.credentials = credentials
        self.maximumAge = maximumAge
    }

    private static let usualMethods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete]

    /// A browser's preflight request.
    struct Preflight: Sendable, Equatable {
        package let origin: String
        package let method: HTTPRequest.Method
        /// In lower case.
        package let headers: [String]

        /// Nil if the request is not a preflight: OPTIONS with `Origin` and `Access-Control-Request-Method`, each once.
        package init?(_ request: HTTPRequest) {
            guard request.method == .options, let origin = Self.single(.origin, request),
                let text = Self.single(.accessControlRequestMethod, request),
                let method = HTTPRequest.Method(rawValue: text)
            else { return nil }
            self.origin = origin
            self.method = method
            // An invalid field name becomes the empty name, which is never allowed.
            self.headers = request.headerFields.filter { $0.name == .accessControlRequestHeaders }
                .flatMap { $0.elements(separatedBy: ",") }.map { $0.asName ?? "" }
        }

        private static func single(_ name: HTTPField.Name, _ request: HTTPRequest) -> String? {
            let values = request.headerFields[values: name]
            return values.count == 1 ? values[0] : nil
        }
    }

    /// The fields that allow a preflight; nil if its origin, method or one of its headers is not allowed.
    func allowing(_ preflight: Preflight) -> HTTPFields? {
        let methods = methods ?? Self.usualMethods
        guard allows(preflight.origin), methods.contains(preflight.method),
            preflight.headers.allSatisfy(headers.contains)
        else { return nil }
        var fields = HTTPFields()
        append(origin: preflight.origin, to: &fields)
        fields[.accessControlAllowMethods] = methods.map(\.rawValue).sorted().joined(separator: ", ")
        if !headers.isEmpty { fields[.accessControlAllowHeaders] = headers.sorted().joined(separator: ", ") }
        fields[.accessControlMaxAge] = String(maximumAge)
        return fields
    }

    /// Replaces the backend's CORS fields of a response with those that let the page read it.
    package func apply(to fields: inout HTTPFields, for request: HTTPRequest) {
        fields.removeAll { $0.name.canonicalName.hasPrefix("access-control-") }
        let origins = request.headerFields[values: .origin]
        guard origins.count == 1, allows(origins[0]) else {
            // A shared cache must not give this response to a page that may read it, or the reverse.
            if self.origins != .any { fields.append(HTTPField(name: .vary, value: "Origin")) }
            return
        }
        append(origin: origins[0], to: &fields)
        if !exposedHeaders.isEmpty {
            fields[.accessControlExposeHeaders] = exposedHeaders.joined(separator: ", ")
        }
    }

    /// Whether the page that sends a request may call the route. Requests that no page sends have no `Origin` and are
    /// allowed.
    func allowsPage(of request: HTTPRequest) -> Bool {
        let origins = request.headerFields[values: .origin]
        return origins.isEmpty || origins.count == 1 && allows(origins[0])
    }

    func allows(_ origin: String) -> Bool {
        switch origins {
        case .any: true
        case .listed(let listed): listed.contains { $0.hasSameBytes(as: origin) }
        }
    }

    private func append(origin: String, to fields: inout HTTPFields) {
        guard case .listed = origins else {
            fields[.accessControlAllowOrigin] = "*"
            return
        }
        fields[.accessControlAllowOrigin] = origin
        fields.append(HTTPField(name: .vary, value: "Origin"))
        if credentials { fields[.accessControlAllowCredentials] = "true" }
    }
}
