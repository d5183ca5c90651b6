import Cryptography
import FoundationEssentials
import Pipeline
import Testing

@testable import Settings
@testable import SettingsReader

@Suite("Config/gatehouse.yaml")
struct ShippedSettingsTests {
    private static let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Config/gatehouse.yaml").path
    private static let environment = ["COGNITO_CLIENT_SECRET": "s3cret"]

    @Test("It has no fault")
    func loads() throws {
        let settings = try GatewaySettings.load(path: Self.path, environment: Self.environment)
        #expect(settings.signIn.cognito?.signIn.clientSecret?.exposeText() == "s3cret")
        #expect(settings.routes.map(\.name) == ["api", "/health"])
    }

    @Test("It names every key there is")
    func namesEveryKey() throws {
        let reading = try SettingsReading(path: Self.path, environment: Self.environment)
        _ = try reading.read(GatewaySettings.init(reading:))
        let known = reading.context.knownKeys
        #expect(known.count > 60)
        #expect(known["routes[].path"] == true)
        // A key whose default follows from others may stand in a comment.
        let lines = try String(contentsOfFile: Self.path, encoding: .utf8).split(separator: "\n")
        for (key, isPresent) in known where !isPresent {
            let name = key.split(separator: ".").last ?? ""
            #expect(lines.contains { $0.drop { $0 == " " }.hasPrefix("# \(name):") }, "\(key) is not named")
        }
    }

    @Test("What it shows as a default is the default")
    func showsDefaults() throws {
        var shown = try GatewaySettings.load(path: Self.path, environment: Self.environment)
        let yaml = """
            listeners: [{address: 127.0.0.1:8080}]
            upstreams: {api: {url: "http://127.0.0.1:8000"}}
            issuers: {users: {user_pool_id: us-east-1_EXAMPLE, client_ids: [1example23456789]}}
            sign_in: {cognito: {issuer: users, client_id: 1example23456789, client_secret: s3cret}}
            routes: [{name: api, path: /api/**, upstream: api}, {path: /health, access: public, upstream: api}]
            """
        var standard = try load(yaml)
        // All methods is shown as their list.
        standard.routes[0].methods = shown.routes[0].methods
        // Settings that are off by default are shown as an example.
        standard.routes[0].crossOrigin = shown.routes[0].crossOrigin
        #expect(shown.routes[0].crossOrigin?.headers == ["authorization", "content-type"])
        #expect(shown.routes[0].crossOrigin?.maximumAge == 600)
        // Of which file they are, and where a route stands there, is not what they say.
        shown.origin = standard.origin
        shown.digest = standard.digest
        (shown.writtenPaths, shown.places, shown.files) = (standard.writtenPaths, standard.places, standard.files)
        shown.values = standard.values
        for index in shown.routes.indices { shown.routes[index].place = standard.routes[index].place }
        #expect(String(reflecting: shown) == String(reflecting: standard))
    }
}
