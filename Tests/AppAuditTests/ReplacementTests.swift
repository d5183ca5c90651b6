import Foundation
import Testing

@testable import AppAudit

@Suite("Replacements")
struct ReplacementTests {
    /// The public functions of GatehouseClient, as Swift spells them: name and labels.
    private func functions() throws -> Set<String> {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/GatehouseClient")
        let names = try #require(FileManager.default.subpaths(atPath: sources.path))
        var found: Set<String> = []
        for name in names where name.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
            for match in text.matches(of: /public func (\w+)\(([^)]*(?:\(\)[^)]*)*)\)/) {
                let labels = match.2.matches(of: /(?:^|,)\s*(\w+)(?: \w+)?:/).map { "\($0.1):" }.joined()
                found.insert("\(match.1)(\(labels))")
            }
        }
        return found
    }

    @Test("Every function that a replacement names is GatehouseClient's")
    func clientFunctions() throws {
        let functions = try functions()
        #expect(functions.count > 30)
        for call in ReplacedCall.all {
            if let function = call.function { #expect(functions.contains(function), "\(function)") }
        }
    }

    @Test("Findings in Swift name the client's function, and others the request")
    func languages() throws {
        let call = try #require(ReplacedCall.named("SignIn".utf8))
        let function = "signIn(_:password:factor:rememberMe:clientMetadata:)"
        #expect(call.replacement(in: .swift) == "\(function) of GatehouseClient (POST /api/v1/auth/login)")
        #expect(call.replacement(in: .kotlin) == "POST /api/v1/auth/login")
        #expect(Rule.tokenStorage.replacement(in: .swift).contains("KeychainStore"))
    }
}
