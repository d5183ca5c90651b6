internal import Cryptography
internal import HTTPTypes
internal import NIOCore
package import Pipeline
internal import SettingsReader

/// A route's limits, and its modifications of requests and responses.
struct RouteTreatmentSettings {
    /// The maximum size of a request's body in bytes; zero for no limit.
    var bodyLimit: Int
    var stripPrefix: String?
    var addPrefix: String?
    var timeouts: RouteTimeoutSettings
    var requestHeaders: HeaderRuleSettings
    var responseHeaders: HeaderRuleSettings
    var compresses: Bool

    /// - Parameter path: the route's path; nil if it is invalid.
    init(reading keys: SettingsMapping, path: String?, identity: IdentitySettings) {
        bodyLimit = keys.value("body_limit", .size(0...(1 << 40)), default: 0)
        stripPrefix = keys.value("strip_prefix", .pathPrefix)
        addPrefix = keys.value("add_prefix", .pathPrefix)
        timeouts = keys.optional("timeouts")?.section(RouteTimeoutSettings.init(reading:)) ?? RouteTimeoutSettings()
        requestHeaders = HeaderRuleSettings(keys.optional("request_headers")) { name in
            HeaderRules.isReserved(request: name, identityNamespace: identity.namespace) || identity.sets(name)
        }
        responseHeaders = HeaderRuleSettings(keys.optional("response_headers"), isReserved: HeaderRules.isReserved)
        compresses = keys.value("compress", .boolean, default: false)
        if let stripPrefix, let path, path != stripPrefix, !path.hasPrefix(stripPrefix + "/") {
            keys.error("strip_prefix", "the route's path does not begin with it")
        }
    }

    /// Nil if nothing is changed.
    var treatment: RouteTreatment? {
        let rewrites = stripPrefix != nil || addPrefix != nil
        guard rewrites || bodyLimit > 0 || compresses || !requestHeaders.isEmpty || !responseHeaders.isEmpty else {
            return nil
        }
        return RouteTreatment(
            rewrite: rewrites ? TargetRewrite(stripPrefix: stripPrefix ?? "", addPrefix: addPrefix ?? "") : nil,
            requestHeaders: requestHeaders.rules, responseHeaders: responseHeaders.rules,
            bodyLimit: bodyLimit > 0 ? bodyLimit : nil, compresses: compresses)
    }
}

/// A route's own time-outs; those that are left out are the upstream's.
package struct RouteTimeoutSettings: Sendable {
    private var connect: Duration?
    private var firstByte: Duration?
    private var idle: Duration?
    /// Zero for no limit.
    private var whole: Duration?

    init() {}

    init(reading keys: SettingsMapping) {
        connect = keys.value("connect", .wait)
        firstByte = keys.value("first_byte", .wait)
        idle = keys.value("idle", .wait)
        whole = keys.value("whole", .duration(.zero ... .seconds(86_400)))
    }

    /// The upstream's time-outs with the route's own values; nil if the route has none.
    package func timeouts(over upstream: UpstreamTimeouts?) -> UpstreamTimeouts? {
        guard connect != nil || firstByte != nil || idle != nil || whole != nil, var timeouts = upstream else {
            return nil
        }
        if let connect { timeouts.connect = connect }
        if let firstByte { timeouts.firstByte = TimeAmount(firstByte) }
        if let idle { timeouts.idle = TimeAmount(idle) }
        if let whole { timeouts.whole = UpstreamTimeouts.whole(whole) }
        return timeouts
    }
}

/// Header fields to set or remove.
struct HeaderRuleSettings {
    var add: [(name: String, value: Secret)] = []
    var remove: [String] = []

    var isEmpty: Bool { add.isEmpty && remove.isEmpty }
    var names: [String] { add.map(\.name) + remove }

    /// Whether a client's header of this name is replaced or removed.
    func sets(_ name: String) -> Bool { names.contains { IdentityClaim.isSameHeader($0, name) } }

    var rules: HeaderRules {
        HeaderRules(
            set: add.compactMap { name, value in
                HTTPField.Name(name).map { HTTPField(name: $0, value: value.exposeText()) }
            },
            remove: remove.compactMap { HTTPField.Name($0) })
    }

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
            if isReserved(name) { entry.error(reservedMessage) }
            if fields.contains(where: { $0.name.lowercased() == name.lowercased() }) {
                entry.error("is given more than once")
            }
            guard let value = entry.readSecret() else { continue }
            let bytes = value.expose()
            // Field values by RFC 9110 §5.5, without the obsolete bytes above ASCII.
            guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }), bytes.first != 0x20, bytes.last != 0x20 else {
                entry.error("must hold only visible ASCII characters and inner spaces")
                continue
            }
            fields.append((name, value))
        }
        return fields
    }

    fileprivate static let reservedMessage = "this header is the gateway's own to set or to remove"
}

extension ScalarFormat where Value == String {
    /// The name of a header field that rules may change.
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
