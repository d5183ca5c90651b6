internal import SettingsReader

extension ScalarFormat where Value == Int {
    private static var units: [(suffix: String, bytes: Int)] {
        [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)]
    }

    /// A number of bytes with its unit: `512B`, `64KiB`, `1MiB`, `2GiB`.
    static func size(_ range: ClosedRange<Int>) -> Self {
        let schema = ScalarSchema(
            .pattern("^[0-9]{1,9}(B|KiB|MiB|GiB)$"),
            "From \(description(range.lowerBound)) to \(description(range.upperBound)), such as 512B, 64KiB or 1MiB.")
        return Self(schema: schema, show: description) { (text) throws(ScalarRefusal) in
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            let suffix = text[digits.endIndex...]
            let unit = units.first { $0.suffix == suffix }
            guard let unit, (1...9).contains(digits.count), let count = Int(digits) else {
                let meant = units.first { $0.suffix.lowercased().first == suffix.lowercased().first }
                throw ScalarRefusal(
                    "must be a size like 512B, 64KiB or 1MiB",
                    suggestion: digits.isEmpty ? nil : meant.map { "\(digits)\($0.suffix)" })
            }
            let value = count * unit.bytes
            guard range.contains(value) else {
                throw ScalarRefusal(
                    "must be a size from \(description(range.lowerBound)) to \(description(range.upperBound))")
            }
            return value
        }
    }

    private static func description(_ bytes: Int) -> String {
        guard bytes != 0, let unit = units.first(where: { bytes.isMultiple(of: $0.bytes) }) else { return "0B" }
        return "\(bytes / unit.bytes)\(unit.suffix)"
    }
}
