/// A JSON number, stored as its text so that nothing is lost and nothing can overflow.
package struct JSONNumber: Equatable, Sendable, ExpressibleByIntegerLiteral {
    /// The number as written: `-? int frac? exp?` of RFC 8259, 6.
    package let text: String

    package init(_ value: Int64) { text = String(value) }
    package init(_ value: Int) { text = String(value) }
    package init(integerLiteral value: Int64) { self.init(value) }

    /// Nil for infinities and NaN, which JSON does not have.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    /// For the parser, which has already checked the grammar.
    init(checked text: String) { self.text = text }

    /// The nearest double; infinite when the number is too large for one.
    var doubleValue: Double { Double(text) ?? .nan }

    /// The number if it is integral, in whatever notation, and within `Int64`.
    package var integerValue: Int64? {
        Int64(text) ?? Decimal(text).integerValue
    }

    /// The seconds of a NumericDate (RFC 7519, 2), rounded down exactly. Nil beyond ±2^53, where readers that use
    /// doubles get another number, so that callers can add to it without overflow.
    package var numericDate: Int64? {
        guard let seconds = Int64(text) ?? Decimal(text).roundedDown,
            (-9_007_199_254_740_992...9_007_199_254_740_992).contains(seconds)
        else { return nil }
        return seconds
    }
}

/// A decimal fraction as digits · 10^exponent.
private struct Decimal {
    var isNegative: Bool
    var digits: [UInt8] = []
    var exponent = 0

    init(_ text: String) {
        isNegative = text.utf8.first == UInt8(ascii: "-")
        var rest = Array(text.utf8)[...]
        if isNegative { rest.removeFirst() }
        var isFraction = false
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "."):
                isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent += Self.saturated(rest)
                rest = []
            default:
                digits.append(byte - UInt8(ascii: "0"))
                if isFraction { exponent -= 1 }
            }
        }
    }

    /// Limits exponents beyond any text's length to a value that still distinguishes zero, integral and too large.
    private static func saturated(_ text: ArraySlice<UInt8>) -> Int {
        let isNegative = text.first == UInt8(ascii: "-")
        let magnitude = text.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
            .reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1 << 40) }
        return isNegative ? -magnitude : magnitude
    }

    /// The greatest integer that is not above the number, if it fits.
    var roundedDown: Int64? {
        if let integerValue { return integerValue }
        // All other digits are after the decimal point.
        let whole = max(0, digits.count + min(0, exponent))
        guard exponent < 0 else { return nil }
        var floor = self
        floor.digits = Array(digits.prefix(whole))
        floor.exponent = 0
        guard let value = floor.integerValue, isNegative else { return floor.integerValue }
        let (below, overflow) = value.subtractingReportingOverflow(1)
        return overflow ? nil : below
    }

    var integerValue: Int64? {
        let significant = digits.drop { $0 == 0 }
        let trailingZeros = significant.reversed().prefix { $0 == 0 }.count
        guard significant.count > trailingZeros else { return 0 }
        let power = exponent + trailingZeros
        let digits = significant.dropLast(trailingZeros)
        // Int64 has at most 19 digits.
        guard power >= 0, digits.count + power <= 19 else { return nil }
        var value: Int64 = 0
        for digit in digits + [UInt8](repeating: 0, count: power) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, overflow2) = product.subtractingReportingOverflow(Int64(digit))
            guard !overflow, !overflow2 else { return nil }
            value = next
        }
        // Accumulated as negative, because the range of Int64 is larger by one there.
        return isNegative ? value : (value == .min ? nil : -value)
    }
}
