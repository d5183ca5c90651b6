import Cryptography
import Encoding
import Pipeline
import Testing

@testable import Settings

@Suite("Secrets in settings")
struct SecretTests {
    private func sample(secret: String, more: String = "") -> String {
        var sample = Sample()
        sample.more = """
            sign_in:
              cognito:
                issuer: users
                client_id: client1
                client_secret: \(secret)
                \(more)
            """
        return sample.yaml
    }

    @Test(
        "A secret is written, taken from the environment or read from a file",
        arguments: [
            ("hunter2", "hunter2"), ("${SECRET}", "of-the-environment"), ("file:/run/secret", "of_a_file"),
            ("file:secret", "beside+the+settings"), ("'file:${NAME}'", "of_a_file"), ("file:windows", "line-end"),
            ("12345", "12345"),
        ])
    func sources(value: String, expected: String) throws {
        let settings = try load(
            sample(secret: value),
            environment: ["SECRET": "of-the-environment", "NAME": "/run/secret"],
            files: [
                "/run/secret": "of_a_file\n", "/etc/gatehouse/secret": "beside+the+settings",
                "/etc/gatehouse/windows": "line-end\r\n",
            ])
        let cognito = try #require(settings.signIn.cognito)
        #expect(cognito.signIn.clientSecret?.exposeText() == expected)
        #expect(!String(reflecting: settings).contains(expected))
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains(expected))
    }

    @Test("A variable that begins with file: names no file")
    func variable() throws {
        let settings = try load(
            Sample(more: "admin: {token: '${FILE}'}").yaml, environment: ["FILE": "file:/run/secret-of-operators"])
        #expect(settings.admin.tokens.first?.secret.exposeText() == "file:/run/secret-of-operators")
    }

    @Test(
        "The name of a variable or a file in another form is no secret",
        arguments: [
            ("$ADMIN_TOKEN_OF_OPERATORS", "${NAME}"), ("$adminTokenOfOperators", "${NAME}"),
            ("/run/secrets/token-of-operators", "file:/PATH"),
        ])
    func names(value: String, meant: String) {
        let found = errors(
            Sample(more: "admin: {token: \(value)}").yaml,
            environment: ["ADMIN_TOKEN_OF_OPERATORS": "token-of-operators"],
            files: ["/run/secrets/token-of-operators": "token-of-operators"])
        #expect(found.count == 1 && !"\(found)".lowercased().contains("operators"))
        #expect(found.contains { $0.contains("admin.token: would be the secret itself (did you mean \"\(meant)\"?)") })
    }

    @Test(
        "A secret may begin like the name of a variable or a file, and a variable or file may hold such a name",
        arguments: [
            ("/aBcDeFgHiJkLmNoPqRsTuVwXyZ+", "/aBcDeFgHiJkLmNoPqRsTuVwXyZ+"),
            ("$1BcDeFgHiJkLmNoPqRsTu", "$1BcDeFgHiJkLmNoPqRsTu"), ("$a-cDeFgHiJkLmNoPqRsTu", "$a-cDeFgHiJkLmNoPqRsTu"),
            ("'${NAME}'", "$NAME_OF_OPERATORS"), ("'${PATH}'", "/run/secrets/of-operators"),
            ("file:name", "$NAME_OF_OPERATORS"), ("file:path", "/run/secrets/of-operators"),
        ])
    func likeNames(value: String, expected: String) throws {
        let (name, path) = ("$NAME_OF_OPERATORS", "/run/secrets/of-operators")
        let settings = try load(
            Sample(more: "admin: {token: \(value)}").yaml, environment: ["NAME": name, "PATH": path],
            files: ["/etc/gatehouse/name": name, "/etc/gatehouse/path": path, path: "of-operators"])
        #expect(settings.admin.tokens.first?.secret.exposeText() == expected)
    }

    @Test(
        "What cannot be an app client's secret is refused",
        arguments: [
            "hunter2\0", "hunter2\nhunter2", "hunter2\n\n", "hunter2 ", "hunter2\u{E9}", "<html>hunter2",
            String(repeating: "hunter2", count: 10),
        ])
    func clientSecrets(text: String) {
        let found = errors(sample(secret: "file:/run/secret"), files: ["/run/secret": text])
        #expect(found.count == 1 && !"\(found)".contains("hunter2"))
        #expect(found[0].contains("sign_in.cognito.client_secret: must be an app client's secret"))
    }

    @Test("A webhook's secret has no second line")
    func webhookSecret() {
        let more = "audit: {webhook: {url: 'https://a.b/c', secret: 'file:/run/secret'}}"
        let found = errors(Sample(more: more).yaml, files: ["/run/secret": "hunter2\nhunter2\n"])
        #expect(found.count == 1 && !"\(found)".contains("hunter2"))
        #expect(found[0].contains("audit.webhook.secret: must not hold control characters"))
    }

    @Test("Sealing keys are ids with 32 bytes in base64")
    func sealingKeys() throws {
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let settings = try load(
            sample(secret: "x", more: "sealing_keys: ['2026-01:\(key)', file:old]"),
            files: ["/etc/gatehouse/old": "old:\(key)\n"])
        let keys = try #require(settings.signIn.cognito).sealingKeys
        #expect(keys.map(\.id) == ["2026-01", "old"])
        #expect(keys.map { $0.key.expose() } == [Array(0..<32), Array(0..<32)])
    }

    @Test(
        "A faulty secret is told without its value",
        arguments: [
            ("file:/nowhere", "", "the secret's file can't be read: there is no such file"),
            ("''", "", "the secret is empty"),
            ("file:/empty", "", "the secret is empty"),
            ("${HUNTER}", "", "the environment variable HUNTER is not set"),
            ("[hunter2]", "", "must be a single value, not a list"),
            ("", "", "has no value"),
            ("x", "sealing_keys: ['hunter2']", "must be id:key"),
            ("x", "sealing_keys: ['hunter2:AAAA']", "must be id:key"),
            ("x", "sealing_keys: []", "must hold at least one"),
            ("x", "sealing_keys: hunter2", "must be a list of sealing keys, not a single value"),
            ("x", "client_secert: hunter2", "unknown key (did you mean \"client_secret\"?)"),
            ("x", "endpoint: https://user:hunter2@example.com", "must not hold a user name or password"),
            ("x", "endpoint: 'https://example.com/?token=hunter2'", "(got \"https://example.com/?…\")"),
            ("x", "endpoint: 'https://example.com/#hunter2'", "(got \"https://example.com/#…\")"),
            ("x", "prefix: ${PASSWORD}", "must begin with \"/\" (got \"${PASSWORD}\")"),
        ])
    func faulty(value: String, more: String, expected: String) {
        let found = errors(
            sample(secret: value, more: more), environment: ["PASSWORD": "hunter2"], files: ["/empty": "\n"])
        #expect(found.count == 1)
        #expect(found.contains { $0.contains(expected) }, "\(found)")
        #expect(!found.contains { $0.contains("hunter2") })
    }
}
