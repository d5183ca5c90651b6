import Accounts
import Cryptography
import Encoding
import Pipeline
import Testing

@testable import Sessions

@Suite("What is sent to the Apple endpoints")
struct AppleBodyTests {
    static let smallest: JSONObject = ["identity_token": "a.b.c", "nonce": "n"]

    /// The faults of the smallest body with this field changed; empty for none.
    static func errors(_ name: String, _ value: JSON?) -> [ExactText: String] {
        var object = smallest
        object[name] = value
        do throws(Refusal) {
            _ = try AppleSignInBody(object)
            return [:]
        } catch {
            #expect(error.error == .invalidParameter)
            return error.fields
        }
    }

    @Test("The whole body")
    func whole() throws {
        var object = Self.smallest
        object["email"] = "other@example.com"
        object["name"] = "  Ada  O'Brien-\u{e9} \u{1F469}\u{200D}\u{1F4BB}\u{3000}"
        object["userIdentifier"] = "001"
        object["authorization_code"] = "c1.0.x"
        object["device_info"] = ["device_id": "d", "platform": "ios"]
        let body = try AppleSignInBody(object)
        #expect(body.identityToken.exposeText() == "a.b.c" && body.nonce.exposeText() == "n")
        #expect(body.name == "Ada  O'Brien-\u{e9} \u{1F469}\u{200D}\u{1F4BB}")
        #expect(body.userIdentifier == "001" && body.authorizationCode?.exposeText() == "c1.0.x")
        #expect(body.device?.deviceID == "d")
        #expect(!"\(body)".contains("a.b.c") && !"\(body)".contains("c1.0.x"))
    }

    @Test("Only token and nonce must be there; what is null, empty or blank is not")
    func smallest() throws {
        let body = try AppleSignInBody(Self.smallest)
        #expect(body.name == nil && body.authorizationCode == nil && body.device == nil)
        var object = Self.smallest
        object["name"] = " \u{a0} "
        object["authorization_code"] = ""
        object["email"] = .null
        let blank = try AppleSignInBody(object)
        #expect(blank.name == nil && blank.authorizationCode == nil)
    }

    @Test("Everything that is wrong is named at once")
    func all() {
        do throws(Refusal) {
            _ = try AppleSignInBody(["nonce": 5, "name": true, "device_info": ["platform": ["x"]], "email": []])
            Issue.record("taken")
        } catch {
            #expect(
                error.fields == [
                    "identity_token": "is required", "nonce": "must be a string", "name": "must be a string",
                    "email": "must be a string", "device_info.platform": "must be a string",
                ])
        }
    }

    static let refused: [(field: String, value: JSON?)] = [
        ("identity_token", nil), ("identity_token", .null), ("identity_token", ""), ("identity_token", 1),
        ("identity_token", ["a": "b"]), ("identity_token", .string(String(repeating: "a", count: 8193))),
        ("identity_token", "a.b\u{0}"), ("nonce", nil), ("nonce", ""), ("nonce", .null), ("nonce", ["n"]),
        ("nonce", .string(String(repeating: "n", count: 513))), ("nonce", "n\n"), ("nonce", "n\u{e9}"),
        ("name", .string(String(repeating: "n", count: 257))), ("name", .string(String(repeating: "n", count: 10_000))),
        ("name", "<b>Ada</b>"), ("name", "Ada>"), ("name", "<script>alert(1)</script>"), ("name", "Ada\r\nX: y"),
        ("name", "Ada\u{0}"), ("name", "Ada\u{1b}[31m"), ("name", "Ada\u{202e}adA"), ("name", "Ada\u{2028}"),
        ("name", "Ada\u{feff}"), ("name", "Ada\u{85}"), ("name", ["first": "Ada"]), ("name", 5),
        ("userIdentifier", 5), ("userIdentifier", .string(String(repeating: "u", count: 256))),
        ("userIdentifier", "u\u{7}"), ("authorization_code", 5), ("authorization_code", "c\u{e9}"),
        ("authorization_code", .string(String(repeating: "c", count: 2049))), ("email", 5),
        ("email", .string(String(repeating: "e", count: 321))), ("device_info", "d"),
    ]

    @Test("What no field may be is refused by its name", arguments: refused)
    func field(_ test: (field: String, value: JSON?)) {
        #expect(Array(Self.errors(test.field, test.value).keys) == [ExactText(test.field)])
    }

    @Test("A notification is one text")
    func notification() throws {
        #expect(try AppleNotificationBody(["payload": "a.b.c"]).payload.exposeText() == "a.b.c")
        for value in [nil, .null, "", 5, ["a"], .string(String(repeating: "a", count: 16_385))] as [JSON?] {
            var object: JSONObject = [:]
            object["payload"] = value
            #expect(throws: Refusal.self) { try AppleNotificationBody(object) }
        }
    }
}
