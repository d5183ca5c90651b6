package import Cryptography
internal import Pipeline

/// A route's changes to its requests and responses on the way, and its limits.
package struct RouteTreatmentSettings: Sendable {
    /// The most bytes of a request's body; zero for no limit.
    package var bodyLimit: Int
    package var stripPrefix: String?
    package var addPrefix: String?
    package var timeouts: RouteTimeoutSettings
    package var requestHeaders: HeaderRuleSettings
    package var responseHeaders: HeaderRuleSettings

    /// - Parameter path: the route's, nil where it is faulty.
    init(reading keys: SettingsMapping, path: String?, identity: IdentitySettings) {
        bodyLimit = keys.value("body_limit", .size(0...(1 << 40)), default: 0)
        stripPrefix = keys.value("strip_prefix", .pathPrefix)
        addPrefix = keys.value("add_prefix", .pathPrefix)
        timeouts = keys.optional("timeouts")?.section(RouteTimeoutSettings.init(reading:)) ?? RouteTimeoutSettings()
        requestHeaders = HeaderRuleSettings(keys.optional("request_headers")) { name in
            HeaderRules.isReserved(request: name, identityNamespace: identity.namespace) || identity.sets(name)
        }
        responseHeaders = HeaderRuleSettings(keys.optional("response_headers"), isReserved: HeaderRules.isReserved)
        if let stripPrefix, let path, path != stripPrefix, !path.hasPrefix(stripPrefix + "/") {
            keys.fault("strip_prefix", "the route's path does not begin with it")
        }
    }
}

/// A route's own time-outs; what is left out is the upstream's.
package struct RouteTimeoutSettings: Sendable, Equatable {
    package var connect: Duration?
    package var firstByte: Duration?
    package var idle: Duration?
    /// Zero for no limit.
    package var whole: Duration?

    package init() {}

    init(reading keys: SettingsMapping) {
        connect = keys.value("connect", .wait)
        firstByte = keys.value("first_byte", .wait)
        idle = keys.value("idle", .wait)
        whole = keys.value("whole", .duration(.zero ... .seconds(86_400)))
    }
}

/// Header fields that are set or removed.
package struct HeaderRuleSettings: Sendable {
    package var add: [(name: String, value: Secret)] = []
    package var remove: [String] = []

    package var isEmpty: Bool { add.isEmpty && remove.isEmpty }
    var names: [String] { add.map(\.name) + remove }

    /// Whether a client's header of this name is replaced or removed.
    func sets(_ name: String) -> Bool { names.contains { IdentityClaim.isSameHeader($0, name) } }

    init(_ node: SettingsNode?, isReserved: @escaping (String) -> Bool) {
        guard let node else { return }
        let read = node.section { keys in
            (
                add: keys.optional("add").map { Self.fields($0, isReserved) } ?? [],
                remove: keys.list("remove", .headerName(isReserved), of: "header names") ?? []
            )
        }
        add = read?.add ?? []
        remove = read?.remove ?? []
    }

    private static func fields(_ node: SettingsNode, _ isReserved: (String) -> Bool) -> [(name: String, value: Secret)]
    {
        var fields: [(name: String, value: Secret)] = []
        for (name, entry) in node.entries() {
            if isReserved(name) { entry.fault(reservedMessage) }
            if fields.contains(where: { $0.name.lowercased() == name.lowercased() }) {
                entry.fault("is given more than once")
            }
            guard let value = entry.readSecret() else { continue }
            let bytes = value.expose()
            // RFC 9110 §5.5, without the obsolete bytes above ASCII.
            guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }), bytes.first != 0x20, bytes.last != 0x20 else {
                entry.fault("must hold only visible ASCII characters and inner spaces")
                continue
            }
            fields.append((name, value))
        }
        return fields
    }

    fileprivate static let reservedMessage = "this header is the gateway's own to set or to remove"
}

extension ScalarFormat where Value == String {
    /// The name of a header field that rules may name.
    fileprivate static func headerName(_ isReserved: @escaping (String) -> Bool) -> Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...64).contains(text.utf8.count),
                text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
            else { throw ScalarRefusal("must be the name of a header") }
            guard !isReserved(text) else { throw ScalarRefusal(HeaderRuleSettings.reservedMessage) }
            return text
        }
    }
}
