import Encoding
import Testing

@Suite("JSON numbers")
struct JSONNumberTests {
    static func number(_ text: String) throws -> JSONNumber? {
        try JSON.parse(Array(text.utf8)).numberValue
    }

    static let integers: [(text: String, value: Int64?)] = [
        ("0", 0), ("-0", 0), ("-0.0", 0), ("0e99999999999999999999", 0), ("1700000000", 1_700_000_000),
        ("1.7e9", 1_700_000_000), ("17E8", 1_700_000_000), ("1700000000.000", 1_700_000_000), ("1.70", nil),
        ("100e-2", 1), ("1e-1", nil), ("-3.0e1", -30), ("9223372036854775807", .max), ("9223372036854775808", nil),
        ("-9223372036854775808", .min), ("-9223372036854775809", nil), ("9223372036854775807.0", .max),
        ("9.223372036854775807e18", .max), ("9.223372036854775808e18", nil), ("-9.223372036854775808e18", .min),
        ("1e18", 1_000_000_000_000_000_000), ("1e19", nil), ("1e400", nil), ("1e-400", nil),
        ("1e99999999999999999999", nil), ("1e-99999999999999999999", nil), ("1000000000000000000000000000000", nil),
        ("10000000000000000000000000e-24", 10), ("0.0000000000000000000000001e26", 10),
    ]

    @Test("A number is an integer when it is exactly one and fits", arguments: integers)
    func integer(text: String, value: Int64?) throws {
        #expect(try Self.number(text)?.integerValue == value)
    }

    static let dates: [(text: String, seconds: Int64?)] = [
        ("1700000000", 1_700_000_000), ("1700000000.9", 1_700_000_000), ("1.7000000009e9", 1_700_000_000),
        ("-1.5", -2), ("0", 0), ("1e400", nil), ("-1e400", nil), ("9007199254740992", 9_007_199_254_740_992),
        ("-9007199254740992", -9_007_199_254_740_992), ("9007199254740994", nil), ("9223372036854775808", nil),
        ("9007199254740993", nil), ("-9007199254740993", nil), ("9007199254740992.5", 9_007_199_254_740_992),
        ("-9007199254740992.5", nil), ("0.99999999999999999999", 0), ("4503599627370496.75", 4_503_599_627_370_496),
        ("-0.0", 0), ("-1e-400", -1), ("123456789.5e-3", 123_456), ("-9223372036854775808.5", nil),
        ("-9223372036854775807.5", nil), ("92233720368547758080.5", nil), ("15e-1", 1), ("0.5e1", 5),
        ("1000000000000000000000000000000", nil), ("1e-400", 0), ("253402300800", 253_402_300_800),
    ]

    @Test("A date is whole seconds towards the past, none rounded, and nil beyond what doubles hold", arguments: dates)
    func date(text: String, seconds: Int64?) throws {
        #expect(try Self.number(text)?.numericDate == seconds)
    }

    @Test("A number keeps its text", arguments: ["1.50", "-0", "1E5", "123456789012345678901234567890"])
    func text(text: String) throws {
        #expect(try Self.number(text)?.text == text)
    }

    @Test("Infinities and NaN have no JSON")
    func notFinite() {
        #expect(JSONNumber(.infinity) == nil && JSONNumber(-.infinity) == nil && JSONNumber(.nan) == nil)
        #expect(JSONNumber(0.25)?.text == "0.25")
    }

    @Test("A megabyte of digits is read without harm")
    func long() throws {
        let digits = String(repeating: "9", count: 1_000_000)
        #expect(try Self.number(digits)?.integerValue == nil)
        #expect(try Self.number(digits)?.numericDate == nil)
        #expect(try Self.number("0.\(digits)")?.integerValue == nil)
    }
}
