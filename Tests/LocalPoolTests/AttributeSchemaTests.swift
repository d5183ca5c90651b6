import Cryptography
import Encoding
import Testing

@testable import LocalPool

@Suite("The attribute schema")
struct AttributeSchemaTests {
    typealias Attribute = LocalPoolConfiguration.AttributeSchema.Attribute

    /// A pool whose users must have a family name and can have a plan, an age and a tenant that never changes.
    static func pool() throws -> TestPool {
        try TestPool { configuration in
            var name = Attribute("family_name")
            (name.isRequired, name.minimum, name.maximum) = (true, 2, 10)
            var age = Attribute("custom:age")
            (age.kind, age.minimum, age.maximum) = (.number, 18, 99)
            var tenant = Attribute("custom:tenant")
            tenant.isMutable = false
            configuration.schema.attributes = [name, age, tenant, Attribute("custom:plan")]
            configuration.schema.isClosed = true
            configuration.users[0].attributes = ["family_name": "Doe"]
        }
    }

    static let conflicts: [([String: String], String)] = [
        ([:], "name.familyName: The attribute name.familyName is required\n"),
        (["family_name": ""], "name.familyName: The attribute name.familyName is required\n"),
        (["family_name": "L"], "name.familyName: String must be longer than 1 characters\n"),
        (["family_name": "Lovelace-King"], "name.familyName: String must be shorter than 11 characters\n"),
        (["family_name": "Doe", "custom:age": "x"], "custom:age: Value must be a number\n"),
        (["family_name": "Doe", "custom:age": "17"], "custom:age: Number must be at least 18\n"),
        (["family_name": "Doe", "custom:age": "100"], "custom:age: Number must be at most 99\n"),
        (["family_name": "Doe", "custom:colour": "red"], "Type for attribute {custom:colour} could not be determined"),
    ]

    @Test("A sign-up that does not conform is refused in Cognito's words", arguments: conflicts.indices)
    func conflict(index: Int) async throws {
        let (attributes, message) = Self.conflicts[index]
        #expect(
            try await Self.pool().refusal("SignUp", NamingTests.signUp("new@example.com", attributes))
                == .invalidParameter("Attributes did not conform to the schema: \(message)"))
    }

    @Test("What conforms is stored; an immutable attribute is set once, a blank value removes one")
    func stored() async throws {
        let pool = try Self.pool()
        let attributes = ["family_name": "Doe", "custom:age": "20", "custom:tenant": "acme", "custom:plan": ""]
        try await NamingTests.confirmed("new@example.com", attributes, in: pool)
        let token = try await pool.tokens("InitiateAuth", TestPool.signIn("new@example.com")).text("AccessToken")
        func update(_ name: String, _ value: String) -> JSONObject {
            ["AccessToken": .string(token), "UserAttributes": [["Name": .string(name), "Value": .string(value)]]]
        }
        func stored(_ name: String) async throws -> JSON? {
            let user = try await pool.answer("GetUser", ["AccessToken": .string(token)])
            return user["UserAttributes"]?.arrayValue?.first { $0["Name"] == .string(name) }?["Value"]
        }
        #expect(try await stored("custom:tenant") == "acme")
        #expect(try await stored("custom:plan") == nil)
        #expect(
            try await pool.refusal("UpdateUserAttributes", update("custom:tenant", "other"))
                == .invalidParameter("user.custom:tenant: Attribute cannot be updated.\n"))
        _ = try await pool.answer("UpdateUserAttributes", update("custom:age", ""))
        #expect(try await stored("custom:age") == nil)
        #expect(try await pool.refusal("UpdateUserAttributes", update("family_name", "")).message.contains("required"))
        var delete: JSONObject = ["AccessToken": .string(token), "UserAttributeNames": ["family_name"]]
        #expect(try await pool.refusal("DeleteUserAttributes", delete).message.contains("required"))
        delete["UserAttributeNames"] = ["email"]
        #expect(try await pool.refusal("DeleteUserAttributes", delete).message == "Cannot delete the email attribute.")
    }

    @Test("A user that an administrator made gives the required attributes with the first password")
    func firstSignIn() async throws {
        let pool = try Self.pool()
        let email = "made@example.com"
        _ = try await pool.answer("AdminCreateUser", ["UserPoolId": "us-east-1_TEST", "Username": .string(email)])
        let temporary = try await pool.code(for: email)
        let challenge = try await pool.answer("InitiateAuth", TestPool.signIn(email, password: temporary))
        #expect(challenge["ChallengeParameters"]?["requiredAttributes"] == #"["userAttributes.family_name"]"#)
        let second = try await pool.answer("InitiateAuth", TestPool.signIn(email, password: temporary))
        let without = try TestPool.respond(challenge, ["NEW_PASSWORD": "my-own-password"], username: email)
        #expect(
            try await pool.refusal("RespondToAuthChallenge", without)
                == .invalidParameter("Invalid attributes given, family_name is missing"))
        let with = try TestPool.respond(
            challenge, ["NEW_PASSWORD": "my-own-password", "userAttributes.family_name": "Made"], username: email)
        let tokens = try await pool.tokens("RespondToAuthChallenge", with)
        #expect(try claims(tokens.text("IdToken"))["family_name"] == "Made")
        // Another session for the first password is worth nothing now.
        let late = try TestPool.respond(
            second, ["NEW_PASSWORD": "another-password", "userAttributes.family_name": "Made"], username: email)
        #expect(try await pool.refusal("RespondToAuthChallenge", late) == .invalidSession)
    }

    @Test("A client reads the attributes of its ReadAttributes only")
    func reading() async throws {
        let pool = try TestPool { $0.clients[0].readAttributes = ["email"] }
        let tokens = try await pool.signedIn()
        let identity = try claims(tokens.text("IdToken"))
        #expect(identity["email"] == .string(TestPool.email))
        #expect(identity["name"] == nil && identity["email_verified"] == nil)
        let user = try await pool.answer("GetUser", ["AccessToken": .string(try tokens.text("AccessToken"))])
        let names = user["UserAttributes"]?.arrayValue?.compactMap { $0["Name"]?.stringValue }
        #expect(names == ["sub", "email"])
    }
}
