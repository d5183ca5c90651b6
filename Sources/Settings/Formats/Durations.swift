internal import SettingsReader

extension ScalarFormat where Value == Duration {
    private static var units: [(suffix: String, milliseconds: Int64)] {
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
    }

    /// A whole number with its unit: `250ms`, `5s`, `10m`, `24h`, `30d`.
    static func duration(_ range: ClosedRange<Duration>) -> Self {
        let schema = ScalarSchema(
            .pattern("^[0-9]{1,9}(ms|s|m|h|d)$"),
            "From \(description(range.lowerBound)) to \(description(range.upperBound)), such as 250ms, 5s, 10m or 24h.")
        return Self(schema: schema, show: description) { (text) throws(ScalarRefusal) in
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            let unit = units.first { $0.suffix == text[digits.endIndex...] }
            // Nine digits of days are far below the limit of 64 bits of milliseconds.
            guard let unit, (1...9).contains(digits.count), let count = Int64(digits) else {
                throw ScalarRefusal("must be a duration like 250ms, 5s, 10m, 24h or 30d")
            }
            let value = Duration.milliseconds(count * unit.milliseconds)
            guard range.contains(value) else {
                throw ScalarRefusal(
                    "must be a duration from \(description(range.lowerBound)) to \(description(range.upperBound))")
            }
            return value
        }
    }

    static func description(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0, let unit = units.first(where: { milliseconds.isMultiple(of: $0.milliseconds) }) else {
            return "0s"
        }
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}
