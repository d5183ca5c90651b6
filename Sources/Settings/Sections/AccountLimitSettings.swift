/// How much there may be of something within a time.
package struct RateSetting: Sendable, Equatable {
    package var count: Int
    package var window: Duration
}

/// Limits of one kind of account calls. Nil is no limit.
package struct BudgetSettings: Sendable, Equatable {
    package var address: RateSetting?
    package var account: RateSetting?
    package var global: RateSetting?
}

/// When accounts are locked after failed sign-ins.
package struct LockoutSettings: Sendable, Equatable {
    package var after: Int
    package var first: Duration
    package var longest: Duration
    package var most: Int
    package var forgetAfter: Duration
}

/// The limits of what clients do with accounts, by the gateway's own calls and by direct ones that are carried out.
package struct AccountLimitSettings: Sendable, Equatable {
    package var signIn: BudgetSettings
    package var codes: BudgetSettings
    package var messages: BudgetSettings
    package var refresh: BudgetSettings
    package var account: BudgetSettings
    /// Nil: accounts are never locked.
    package var lockout: LockoutSettings?
    /// How many addresses, accounts and devices are counted at the same time.
    package var keys: Int
}

extension AccountLimitSettings {
    init(reading keys: SettingsMapping) {
        let minute = Duration.seconds(60)
        func budget(_ name: String, _ address: RateSetting, _ account: RateSetting, _ global: Int) -> BudgetSettings {
            keys.section(name) { section in
                BudgetSettings(
                    address: section.value("address", .rate, default: address),
                    account: section.value("account", .rate, default: account),
                    global: section.value("global", .rate, default: RateSetting(count: global, window: minute)))
            }
        }
        func rate(_ count: Int, _ window: Duration) -> RateSetting { RateSetting(count: count, window: window) }
        signIn = budget("sign_in", rate(60, minute), rate(10, minute), 6000)
        codes = budget("codes", rate(30, minute), rate(10, minute * 10), 3000)
        messages = budget("messages", rate(20, minute * 10), rate(5, minute * 60), 600)
        refresh = budget("refresh", rate(600, minute), rate(60, minute), 60_000)
        account = budget("account", rate(600, minute), rate(60, minute), 60_000)
        lockout = Self.lockout(keys)
        self.keys = keys.value("keys", .integer(1000...10_000_000), default: 200_000)
    }

    private static func lockout(_ keys: SettingsMapping) -> LockoutSettings? {
        if let node = keys.optional("lockout"), !node.isNull, node.isScalar {
            _ = node.read(.word(among: ["off"]))
            return nil
        }
        return keys.section("lockout", LockoutSettings.init(reading:))
    }
}

extension LockoutSettings {
    fileprivate init(reading keys: SettingsMapping) {
        let day = Duration.seconds(86_400)
        after = keys.value("after", .integer(1...1000), default: 5)
        first = keys.value("first", .duration(.seconds(1)...day), default: .seconds(30))
        let longest = keys.optional("longest")
        self.longest = longest?.read(.duration(.seconds(1)...day)) ?? max(first, .seconds(900))
        if self.longest < first { longest?.refuse("must not be shorter than first") }
        let most = keys.optional("most")
        self.most = most?.read(.integer(1...1_000_000)) ?? max(after, 100)
        if self.most < after { most?.refuse("must not be less than after") }
        forgetAfter = keys.value("forget_after", .duration(.seconds(60)...day * 365), default: day)
    }
}

extension ScalarFormat where Value == RateSetting? {
    private static func text(_ rate: RateSetting?) -> String {
        guard let rate else { return "unlimited" }
        return "\(rate.count)/\(ScalarFormat<Duration>.description(rate.window))"
    }

    /// So many within a time, as `60/1m`; or `unlimited`.
    fileprivate static var rate: Self {
        let schema = ScalarSchema(
            .pattern("^(unlimited|[0-9]{1,9}/[0-9]{1,9}(s|m|h|d|ms))$"), "A rate such as 60/1m, or unlimited.")
        return Self(schema: schema, show: Self.text) { (text) throws(ScalarRefusal) in
            if text == "unlimited" { return nil }
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, (1...9).contains(parts[0].utf8.count),
                parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(parts[0]), count > 0
            else { throw ScalarRefusal("must be a rate like 60/1m or 5/1h, or unlimited") }
            let window = try ScalarFormat<Duration>.duration(.seconds(1) ... .seconds(86_400)).read(String(parts[1]))
            guard window.components.attoseconds == 0 else { throw ScalarRefusal("must be a rate per whole seconds") }
            return RateSetting(count: count, window: window)
        }
    }
}
