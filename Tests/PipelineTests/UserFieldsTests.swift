import Encoding
import Testing

@testable import Pipeline

@Suite("Further members of the user")
struct UserFieldsTests {
    static let values: JSONObject = [
        "phone_number": "+4915112345678", "custom:plan": "gold", "custom:seats": "5", "custom:beta": "true",
        "custom:tags": #"["a",{"b":null}]"#, "age": 7, "flag": true, "list": ["x"], "bad": "{",
    ]

    @Test(
        "Values have the form that is asked for, or none",
        arguments: [
            ("custom:plan", .text, "gold"), ("age", .text, "7"), ("flag", .text, "true"), ("list", .text, .null),
            ("custom:seats", .number, 5), ("age", .number, 7), ("custom:plan", .number, .null),
            ("custom:tags", .number, .null), ("flag", .number, .null),
            ("custom:beta", .boolean, true), ("flag", .boolean, true), ("custom:seats", .boolean, .null),
            ("custom:tags", .json, ["a", ["b": .null]]), ("list", .json, ["x"]), ("bad", .json, .null),
            ("custom:plan", .json, .null), ("nothing", .text, .null), ("nothing", .json, .null),
        ] as [(String, UserFields.Form, JSON)])
    func forms(name: String, form: UserFields.Form, expected: JSON) {
        let fields = UserFields([UserFields.Field(name: "x", source: .own(name), form: form)])
        #expect(fields.added(to: [:]) { Self.values[$0] } == ["x": expected])
    }

    @Test("A member of the same name is replaced, all others stay")
    func replaced() {
        let fields = UserFields([
            UserFields.Field(name: "name", source: .own("custom:plan")),
            UserFields.Field(name: "role", source: .constant("customer")),
            UserFields.Field(name: "level", source: .constant("3"), form: .number),
        ])
        let user: JSONObject = ["id": "1", "name": "Ada"]
        #expect(
            fields.added(to: user) { Self.values[$0] } == ["id": "1", "name": "gold", "role": "customer", "level": 3])
        #expect(UserFields().added(to: user) { _ in nil } == user)
    }
}
