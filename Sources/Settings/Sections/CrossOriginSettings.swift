internal import HTTPTypes
internal import Pipeline
internal import SettingsReader

extension CrossOrigin {
    init?(reading keys: SettingsMapping) {
        let origins = keys.required("origins") == nil ? nil : keys.list("origins", .webOrigin, of: "origins")
        let methods = keys.list("methods", .method, of: "methods")
        let headers = keys.list("headers", .fieldName, of: "header names") ?? ["authorization", "content-type"]
        let exposed = keys.list("expose", .fieldName, of: "header names") ?? []
        let credentials = keys.value("credentials", .boolean, default: false)
        let maximumAge = keys.value("max_age", .duration(.zero ... .seconds(86_400)), default: .seconds(600))
        guard let origins else { return nil }
        if keys.isEmptyList("origins") { keys.error("origins", "must name at least one origin, or be [\"*\"]") }
        let isOpen = origins.contains("*")
        if isOpen, origins.count > 1 { keys.error("origins", "\"*\" stands alone") }
        // Fetch standard, 3.2.5: browsers refuse the combination, and it would open the route to every page.
        if isOpen, credentials { keys.error("credentials", "can't be true for every origin") }
        self.init(
            origins: isOpen ? .any : .listed(Set(origins)),
            methods: methods.map { Set($0.compactMap(HTTPRequest.Method.init(rawValue:))) }, headers: Set(headers),
            exposedHeaders: exposed, credentials: credentials, maximumAge: maximumAge.components.seconds)
    }
}

extension ScalarFormat where Value == String {
    /// `https://app.example` or `https://app.example:8443` as browsers serialize it (RFC 6454, 6.2), or `*`.
    fileprivate static var webOrigin: Self {
        Self { (text) throws(ScalarRefusal) in
            if text == "*" { return text }
            if text.hasSuffix("/"), let plain = try? Self.serialized(String(text.dropLast())) {
                throw ScalarRefusal("must not end with \"/\": browsers send none", suggestion: plain)
            }
            return try Self.serialized(text)
        }
    }

    private static func serialized(_ text: String) throws(ScalarRefusal) -> String {
        let example = "must be an origin like https://app.example, in lower case and without a path, or \"*\""
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix), text == text.lowercased(),
            let (host, port) = HostAndPort.split(text.dropFirst(scheme.count)), !host.isEmpty
        else { throw ScalarRefusal(example) }
        if port == (scheme == "https://" ? 443 : 80) { throw ScalarRefusal("browsers leave out the usual port") }
        return text
    }

    /// A header name, converted to lower case (RFC 9110, 5.6.2).
    fileprivate static var fieldName: Self {
        Self { (text) throws(ScalarRefusal) in
            let isToken = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isToken, !text.isEmpty else { throw ScalarRefusal("must be a header's name") }
            return text.lowercased()
        }
    }
}
