import Foundation
import HTTPTypes
import Pipeline
import Sessions
import Settings
import Testing

@testable import Accounts
@testable import Gateway

@Suite("deploy/openapi.yaml")
struct OpenAPITests {
    /// The calls under `paths`, by the indentation that the file keeps: `  /path:` and `    method:`.
    static func declared() throws -> Set<String> {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/openapi.yaml")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        var calls: Set<String> = []
        var path = ""
        for line in lines {
            let name = line.drop { $0 == " " }.prefix { $0 != ":" }
            switch line.prefix(while: { $0 == " " }).count {
            case 2: path = String(name)
            case 4 where path.hasPrefix("/") && ["get", "post", "patch", "put", "delete"].contains(name):
                // A parameter of the description is any one segment of the route.
                calls.insert("\(name.uppercased()) \(path)".replacing(/\{[a-z_]+\}/, with: "*"))
            default: break
            }
        }
        return calls
    }

    @Test("It declares every call that the gateway answers itself, and no other")
    func complete() throws {
        var settings = try StartTests.settings(
            routes: "  - {path: /a, upstream: api}\nidentity: {assertion: {issuer: gateway}}")
        let apple = try SessionWiringTests.settings()
        settings.issuers += apple.issuers
        settings.signIn.apple = apple.signIn.apple
        settings.signIn.cognito?.signIn.hosted = HostedSignInSettings(
            domain: "https://pool.example", issuer: "https://api.example/api/v1/auth/oauth", redirectURIs: [])
        let gate = try Wiring.gate(settings, issuers: settings.trustedIssuers)
        let own = gate.routes.routes.filter { route in
            if case .endpoint = route.destination { true } else { false }
        }
        let served = own.flatMap { route in (route.methods ?? []).map { "\($0.rawValue) \(route.pattern)" } }
        #expect(Set(served) == (try Self.declared()))
        // The key set, and the metadata of hosted sign-in.
        #expect(served.count == CognitoAccounts.operations.count + SessionEndpoints.operations.count + 2)
    }
}
