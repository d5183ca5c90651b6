internal import Pipeline
internal import SettingsReader

extension Requirements {
    /// Reads a route's `require`. Nil if the key is absent or invalid.
    static func of(_ keys: SettingsMapping, access: Access) -> Requirements? {
        guard let node = keys.optional("require") else { return nil }
        let requirements = node.section(Requirements.init(reading:))
        if access == .public {
            node.error("has no effect on a public route")
        } else if node.isEmptySection {
            node.error("must hold at least one requirement")
        }
        return requirements
    }

    private init(reading keys: SettingsMapping) {
        self.init()
        (allScopes, anyScope) = Self.lists("scopes", .scope, keys)
        (allGroups, anyGroup) = Self.lists("groups", .text, keys)
        claims = keys.optional("claims")?.elements(expected: "claims").map(Self.conditions) ?? []
        if keys.isEmptyList("claims") { keys.error("claims", "must name at least one") }
        emailVerified = keys.value("email_verified", .boolean, default: false)
        if keys.has("email_verified"), !emailVerified { keys.error("email_verified", "must be true, or left out") }
        let limit = ScalarFormat<Duration>.duration(.seconds(1) ... .seconds(365 * 86_400))
        maximumAge = keys.value("max_age", limit)?.components.seconds
    }

    /// Reads `all` and `any` of a section, which must have at least one of them.
    private static func lists(
        _ name: String, _ format: ScalarFormat<String>, _ keys: SettingsMapping
    ) -> (all: [String], any: [String]) {
        let lists = keys.optional(name)?.section { keys in
            if !keys.has("all"), !keys.has("any") { keys.node.error("must hold all or any") }
            for list in ["all", "any"] where keys.isEmptyList(list) { keys.error(list, "must name at least one") }
            return (keys.list("all", format, of: name) ?? [], keys.list("any", format, of: name) ?? [])
        }
        return lists ?? ([], [])
    }

    private static func conditions(_ nodes: [SettingsNode]) -> [ClaimCondition] {
        nodes.compactMap { $0.section(ClaimCondition.init(reading:)) ?? nil }
    }
}

extension ClaimCondition {
    fileprivate init?(reading keys: SettingsMapping) {
        let claim = keys.required("claim")?.readClaimPath()
        let present = keys.value("present", .boolean)
        let value = keys.value("equals", .text)
        let values = keys.list("in", .text, of: "values")
        let tests = ["equals", "in", "present"].filter(keys.has)
        guard tests.count == 1 else {
            keys.node.error("must hold one of equals, in, present" + (tests.isEmpty ? "" : ", not several"))
            return nil
        }
        if keys.isEmptyList("in") { keys.error("in", "must name at least one") }
        if present == false { keys.error("present", "must be true") }
        guard let claim else { return nil }
        self.init(claim, present == true ? .present : .oneOf(values ?? value.map { [$0] } ?? []))
    }
}

extension SettingsNode {
    /// Reads the name of a claim, or a list of names as the path of a nested claim.
    func readClaimPath() -> ClaimPath? {
        if isScalar { return read(.text).map { ClaimPath([$0]) } }
        guard let elements = elements(expected: "names, or one name") else { return nil }
        guard !elements.isEmpty else {
            error("must name a claim")
            return nil
        }
        let names = elements.compactMap { $0.read(.text) }
        return names.count == elements.count ? ClaimPath(names) : nil
    }
}

extension ScalarFormat where Value == String {
    /// An OAuth scope: visible ASCII without `"` and `\` (RFC 6749 §3.3).
    fileprivate static var scope: Self {
        Self { (text) throws(ScalarRefusal) in
            let isToken = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
            guard isToken, (1...256).contains(text.utf8.count) else { throw ScalarRefusal("must be a scope") }
            return text
        }
    }
}
