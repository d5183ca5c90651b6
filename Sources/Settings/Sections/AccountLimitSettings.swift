internal import Pipeline
internal import SettingsReader

extension AccountLimitSettings {
    init(reading keys: SettingsMapping) {
        self.init()
        func read(_ budget: AccountBudget, _ address: RateLimit, _ account: RateLimit, _ global: Int) {
            self[budget] = keys.section(budget.rawValue) { section in
                BudgetLimits(
                    address: section.value("address", .rate, default: address),
                    account: section.value("account", .rate, default: account),
                    global: section.value("global", .rate, default: RateLimit(global, per: 60)))
            }
        }
        read(.signIn, RateLimit(60, per: 60), RateLimit(10, per: 60), 6000)
        read(.codes, RateLimit(30, per: 60), RateLimit(10, per: 600), 3000)
        read(.messages, RateLimit(20, per: 600), RateLimit(5, per: 3600), 600)
        read(.refresh, RateLimit(600, per: 60), RateLimit(60, per: 60), 60_000)
        read(.account, RateLimit(600, per: 60), RateLimit(60, per: 60), 60_000)
        lockout = Self.lockout(keys)
        maximumKeys = keys.value("keys", .integer(1000...10_000_000), default: maximumKeys)
    }

    private static func lockout(_ keys: SettingsMapping) -> LockoutPolicy? {
        if let node = keys.optional("lockout"), !node.isNull, node.isScalar {
            _ = node.read(.word(among: ["off"]))
            return nil
        }
        return keys.section("lockout", LockoutPolicy.init(reading:))
    }
}

extension LockoutPolicy {
    fileprivate init(reading keys: SettingsMapping) {
        let day = Duration.seconds(86_400)
        let after = keys.value("after", .integer(1...1000), default: 5)
        let first = keys.value("first", .duration(.seconds(1)...day), default: .seconds(30))
        let longestNode = keys.optional("longest")
        let longest = longestNode?.read(.duration(.seconds(1)...day)) ?? max(first, .seconds(900))
        if longest < first { longestNode?.refuse("must not be shorter than first") }
        let mostNode = keys.optional("most")
        let most = mostNode?.read(.integer(1...1_000_000)) ?? max(after, 100)
        if most < after { mostNode?.refuse("must not be less than after") }
        let forgetAfter = keys.value("forget_after", .duration(.seconds(60)...day * 365), default: day)
        self.init(
            after: after, first: first.components.seconds, longest: longest.components.seconds, most: most,
            forgetAfter: forgetAfter.components.seconds)
    }
}

extension ScalarFormat where Value == RateLimit {
    fileprivate static var pattern: String { "[0-9]{1,9}/[0-9]{1,9}(s|m|h|d|ms)" }

    fileprivate static func text(_ rate: RateLimit) -> String {
        "\(rate.count)/\(ScalarFormat<Duration>.description(.seconds(rate.window)))"
    }

    /// A count per time window, such as `60/1m`.
    static var limitedRate: Self {
        let schema = ScalarSchema(.pattern("^\(pattern)$"), "A rate such as 60/1m.")
        return Self(schema: schema, show: text) { (text) throws(ScalarRefusal) in
            try read(text, or: "")
        }
    }

    /// - Parameter other: the end of the error, which names values other than a rate.
    fileprivate static func read(_ text: String, or other: String) throws(ScalarRefusal) -> RateLimit {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, (1...9).contains(parts[0].utf8.count),
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(parts[0]), count > 0
        else { throw ScalarRefusal("must be a rate like 60/1m or 5/1h\(other)", suggestion: meant(by: text)) }
        let durations = ScalarFormat<Duration>.duration(.seconds(1) ... .seconds(86_400))
        guard let window = try? durations.read(String(parts[1])) else {
            throw ScalarRefusal(
                "must be a rate like 60/1m or 5/1h, per 1s to 1d\(other)", suggestion: meant(by: text))
        }
        guard window.components.attoseconds == 0 else { throw ScalarRefusal("must be a rate per whole seconds") }
        return RateLimit(count, per: window.components.seconds)
    }

    /// Suggests a rate for notations of other products: `60/min`, `60/m`, `60 per minute` or `60r/m`.
    private static func meant(by text: String) -> String? {
        let count = text.prefix { $0.isASCII && $0.isNumber }
        var rest = text.dropFirst(count.count).drop { $0 == " " || $0 == "r" }
        for mark in ["/", "per "] where rest.hasPrefix(mark) { rest = rest.dropFirst(mark.count) }
        let words: [(unit: String, names: [String])] = [
            ("s", ["s", "sec", "second"]), ("m", ["m", "min", "minute"]), ("h", ["h", "hour"]), ("d", ["d", "day"]),
        ]
        let name = rest.drop { $0 == " " }.lowercased()
        guard (1...9).contains(count.count), Int(count) != 0,
            let unit = words.first(where: { $0.names.contains(name) })?.unit
        else { return nil }
        return "\(count)/1\(unit)"
    }
}

extension ScalarFormat where Value == RateLimit? {
    /// A count per time window, such as `60/1m`; or `unlimited`.
    fileprivate static var rate: Self {
        let schema = ScalarSchema(
            .pattern("^(unlimited|\(ScalarFormat<RateLimit>.pattern))$"), "A rate such as 60/1m, or unlimited.")
        return Self(schema: schema, show: { $0.map(ScalarFormat<RateLimit>.text) ?? "unlimited" }) {
            (text) throws(ScalarRefusal) in
            text == "unlimited" ? nil : try ScalarFormat<RateLimit>.read(text, or: ", or unlimited")
        }
    }
}
