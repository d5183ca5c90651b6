import Testing

@testable import Encoding

@Suite("JSON")
struct JSONTests {
    static let values: [(text: String, value: JSON)] = [
        ("null", nil),
        (" true\r\n\t", true),
        ("false", false),
        ("0", 0),
        ("-12", -12),
        (#""""#, ""),
        (#""a\"b\\c\/d\b\f\n\r\té""#, "a\"b\\c/d\u{8}\u{c}\n\r\té"),
        (#""\u0041\u00e9\ud83d\ude00\uD83D\uDE00\u0000""#, "Aé😀😀\u{0}"),
        ("\"пример 😀\"", "пример 😀"),
        ("[]", []),
        ("[ 1 , [ ] , {} ]", [1, [], [:]]),
        (#"{"b":1,"a":{"c":[true,null]}}"#, ["a": ["c": [true, nil]], "b": 1]),
        (#"{"":0}"#, ["": 0]),
    ]

    @Test("Valid JSON is read", arguments: values)
    func reading(text: String, value: JSON) throws {
        #expect(try JSON.parse(Array(text.utf8)) == value)
    }

    @Test("What is written is read back as the same", arguments: values)
    func writing(text: String, value: JSON) throws {
        #expect(try JSON.parse(value.encoded()) == value)
    }

    @Test("Writing is compact, keeps order and number text, and escapes what must be")
    func encoding() throws {
        let text = #"{"z":1.50,"a":["\u0001\u007f\n\"\\/é",-0,1E5,null,true]}"#
        #expect(String(decoding: try JSON.parse(Array(text.utf8)).encoded(), as: UTF8.self) == text)
    }

    @Test("Exactly control characters, quotes and backslashes are escaped, wherever they stand", arguments: 0..<18)
    func escaping(position: Int) {
        let escapes: [UInt8: String] = [
            0x08: #"\b"#, 0x09: #"\t"#, 0x0a: #"\n"#, 0x0c: #"\f"#, 0x0d: #"\r"#, 0x22: #"\""#, 0x5c: #"\\"#,
            0x7f: #"\u007f"#,
        ]
        let before = String(repeating: "ü", count: position / 2) + String(repeating: "x", count: position % 2)
        for scalar in (UInt32(0)...0x17F).compactMap(Unicode.Scalar.init) {
            let byte = UInt8(exactly: scalar.value)
            let escape = byte.flatMap { escapes[$0] ?? ($0 < 0x20 ? "\\u00" + Hexadecimal.encode($0) : nil) }
            for behind in ["", "y", "yyyyyyy\u{0}"] {
                let tail = behind.replacing("\u{0}", with: #"\u0000"#)
                let expected = "\"\(before)\(escape ?? String(scalar))\(tail)\""
                #expect(JSON.string(before + String(scalar) + behind).encoded() == Array(expected.utf8))
            }
        }
    }

    static let invalid: [(text: String, reason: JSONError.Reason)] = [
        ("", .unexpectedEnd), (" ", .unexpectedEnd), ("nul", .unexpectedEnd), ("nulL", .unexpectedByte),
        ("True", .unexpectedByte), ("'a'", .unexpectedByte), ("NaN", .unexpectedByte), ("Infinity", .unexpectedByte),
        ("\u{feff}{}", .unexpectedByte), ("{} {}", .trailingBytes), ("{}\u{0}", .trailingBytes),
        ("1 2", .trailingBytes),
        ("01", .trailingBytes), ("-", .invalidNumber), ("+1", .unexpectedByte), (".5", .unexpectedByte),
        ("1.", .invalidNumber), ("1e", .invalidNumber), ("1e+", .invalidNumber), ("0x10", .trailingBytes),
        ("-Infinity", .invalidNumber), ("[1,]", .unexpectedByte), ("[1", .unexpectedEnd), ("[1 2]", .unexpectedByte),
        ("[", .unexpectedEnd), ("[,1]", .unexpectedByte), ("{\"a\"}", .unexpectedByte), ("{\"a\":1,}", .unexpectedByte),
        ("{a:1}", .unexpectedByte), ("{\"a\":1", .unexpectedEnd), ("{1:1}", .unexpectedByte), ("{,}", .unexpectedByte),
        ("\"a", .unexpectedEnd), ("\"\n\"", .unexpectedByte), ("\"\u{0}\"", .unexpectedByte),
        ("\"\\n\t\"", .unexpectedByte), (#""\x41""#, .invalidEscape), (#""\u12""#, .invalidEscape),
        (#""\u 123""#, .invalidEscape), (#""\ud800""#, .invalidEscape), (#""\udc00""#, .invalidEscape),
        (#""\ud800A""#, .invalidEscape), (#""\ud83d\ud83d""#, .invalidEscape), (#""\"#, .unexpectedEnd),
        ("// c\n1", .unexpectedByte), ("[1]//", .trailingBytes),
        (#"{"exp":1,"exp":1}"#, .duplicateName), (#"{"exp":1,"\u0065xp":2}"#, .duplicateName),
        (#"[{"a":{"b":1,"c":2,"b":3}}]"#, .duplicateName), (#"{"":1,"":2}"#, .duplicateName),
        (#"{"a":1,"\u00e9":2,"exp":3,"\u0065xp":4}"#, .duplicateName),
        (#"{"\u0065xp":1,"a":0,"exp":2}"#, .duplicateName),
        (#"{"é":1,"\u00e9":2}"#, .duplicateName), (#"{"\u00e9":1,"é":2}"#, .duplicateName),
        (#"{"\u00e9":1,"\u00E9":2}"#, .duplicateName), (#"{"e\u0301":1,"\u0065\u0301":2}"#, .duplicateName),
    ]

    @Test("Anything else is refused", arguments: invalid)
    func refusing(text: String, reason: JSONError.Reason) {
        let error = #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
        #expect(error?.reason == reason)
    }

    /// Overlong, surrogate, beyond U+10FFFF, cut off, continuation alone; also behind an escape.
    static let invalidUTF8: [[UInt8]] = [
        [0xc0, 0xaf], [0xe0, 0x80, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc3], [0xe2, 0x82], [0x80],
        [0xff], [0xfe], [0x5c, 0x6e, 0xc0, 0xaf],
    ]

    @Test("Invalid UTF-8 is refused", arguments: invalidUTF8)
    func utf8(bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSON.parse([0x22] + bytes + [0x22]) }
        #expect(error?.reason == .invalidUTF8)
    }

    @Test("Nesting is bounded, however deep the text", arguments: [33, 500, 50_000])
    func depth(levels: Int) throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let text = String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)
            let error = #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
            #expect(error?.reason == .tooDeep)
        }
        let allowed = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(throws: Never.self) { try JSON.parse(Array(allowed.utf8)) }
    }

    @Test("Size is bounded by the caller")
    func size() {
        let text = Array("[1,2]".utf8)
        #expect(throws: Never.self) { try JSON.parse(text, limits: JSONLimits(maximumBytes: 5)) }
        #expect(throws: JSONError(reason: .tooLarge, offset: 4)) {
            try JSON.parse(text, limits: JSONLimits(maximumBytes: 4))
        }
    }

    @Test("Thousands of names are read, and a repeated one among them is found")
    func manyNames() throws {
        let names = (0..<5000).map { "\"n\($0)\":\($0)" }
        let object = try JSON.parse(Array("{\(names.joined(separator: ","))}".utf8)).objectValue
        #expect(object?.count == 5000)
        #expect(object?["n4999"] == 4999)
        let repeated = "{\((names + ["\"n17\":0"]).joined(separator: ","))}"
        #expect(throws: JSONError.self) { try JSON.parse(Array(repeated.utf8)) }
    }

    @Test("A repeated name is found wherever it stands, escaped or not", arguments: [2, 23, 24, 25, 26, 60])
    func repeatedNames(count: Int) throws {
        // Of one length and with the same ends, so that only comparing tells them apart.
        let names = (0..<count).map { "n\(100 + $0)n" }
        let members = names.map { "\"\($0)\":0" }
        #expect(try JSON.parse(Array("{\(members.joined(separator: ","))}".utf8)).objectValue?.count == count)
        for name in names {
            for repeated in [name, name.replacing("n", with: "\\u006e", maxReplacements: 1)] {
                let text = "{\((members + ["\"\(repeated)\":1"]).joined(separator: ","))}"
                let error = #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
                #expect(error?.reason == .duplicateName, "\(repeated)")
            }
        }
    }

    @Test("A byte that ends or spoils a text is seen wherever it stands", arguments: 0..<20)
    func specialBytes(position: Int) throws {
        for byte in UInt8.min...UInt8.max {
            var text = Array(repeating: UInt8(ascii: "!"), count: 20)
            text[position] = byte
            let parsed = Result { () throws(JSONError) in try JSON.parse([0x22] + text + [0x22]) }
            switch byte {
            case 0x20, 0x21, 0x23...0x5b, 0x5d...0x7f:
                #expect(try parsed.get() == .string(String(decoding: text, as: UTF8.self)), "\(byte)")
            default:
                let reason: JSONError.Reason =
                    switch byte {
                    case 0..<0x20: .unexpectedByte
                    case 0x22: .trailingBytes
                    case 0x5c: position == 19 ? .unexpectedEnd : .invalidEscape
                    default: .invalidUTF8
                    }
                let error = #expect(throws: JSONError.self) { try parsed.get() }
                #expect(error?.reason == reason, "\(byte)")
            }
        }
    }

    @Test("What was read is changed and compared like what was made")
    func readObjects() throws {
        let text = #"{"a":{"b":[1,{"c":"é\n"}]},"é":true,"n":null,"d":-1.5e3}"#
        var object = try #require(JSON.parse(Array(text.utf8)).objectValue)
        let made: JSONObject = ["a": ["b": [1, ["c": "é\n"]]], "é": true, "n": nil, "d": -1.5e3]
        #expect(object.map(\.name) == ["a", "é", "n", "d"] && object["d"]?.integerValue == -1500)
        #expect(object["a"] == made["a"] && object["é"] == true && object["n"] == .null && object["e"] == nil)
        let before = object
        object["a"] = nil
        object["n"] = 2
        #expect(object.count == 3 && object["a"] == nil && object["n"] == 2)
        #expect(before["a"] == made["a"] && before.count == 4)
    }

    @Test("Names are found by their bytes, not by canonical equivalence")
    func names() {
        let object: JSONObject = ["\u{212a}id": 1, "e\u{301}": 2]
        #expect(object["Kid"] == nil)
        #expect(object["\u{e9}"] == nil)
        #expect(object["\u{212a}id"] == 1)
    }

    /// Pairs of names that are canonically equivalent and not the same.
    static let equivalents = [
        ("\u{e9}", "e\u{301}"), ("K", "\u{212a}"), (";", "\u{37e}"), ("a\u{345}\u{334}", "a\u{334}\u{345}"),
    ]

    @Test("Names are the same by their bytes alone, however many there are", arguments: equivalents, [0, 30])
    func equivalentNames(names: (String, String), count: Int) throws {
        let others = (0..<count).map { "\"n\($0)\":0," }.joined()
        for (one, other) in [names, (names.1, names.0)] {
            let text = "{\(others)\"\(one)\":1,\"\(other)\":2}"
            let object = try #require(JSON.parse(Array(text.utf8)).objectValue)
            #expect(object.count == count + 2 && object[one] == 1 && object[other] == 2)
            let repeated = "{\(others)\"\(one)\":1,\"\(other)\":2,\"\(one)\":3}"
            #expect(throws: JSONError.self) { try JSON.parse(Array(repeated.utf8)) }
        }
    }

    @Test("Texts are equal by their bytes alone", arguments: equivalents)
    func equivalentTexts(texts: (String, String)) {
        let (one, other) = (JSON.string(texts.0), JSON.string(texts.1))
        #expect(one == one && one != other)
        #expect(JSON.array([one]) != [other] && JSON.object(["a": one]) != ["a": other])
        #expect(JSON.array([1, [:], true]) == [1, [:], true] && JSON.number(1) != true && JSON.null != [:])
    }

    @Test("Members are set, replaced in place and removed")
    func members() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = "x"
        object["b"] = nil
        object["d"] = nil
        #expect(String(decoding: object.encoded(), as: UTF8.self) == #"{"a":3,"c":"x"}"#)
    }

    @Test("Accessors give a value of their own kind only")
    func accessors() {
        let value: JSON = ["s": "x", "n": 1, "b": true, "a": [1], "o": [:], "z": nil]
        #expect(value["s"]?.stringValue == "x" && value["n"]?.stringValue == nil)
        #expect(value["n"]?.integerValue == 1 && value["s"]?.integerValue == nil)
        #expect(value["b"]?.boolValue == true && value["n"]?.boolValue == nil)
        #expect(value["a"]?.arrayValue == [1] && value["o"]?.arrayValue == nil)
        #expect(value["o"]?.objectValue == [:] && value["a"]?.objectValue == nil)
        #expect(value["z"] == .null && value["missing"] == nil)
    }
}
