import Encoding
import Pipeline
import Testing

@testable import Settings

@Suite("What routes require, and headers of claims")
struct RequirementTests {
    typealias Case = SectionFaultTests.Case

    /// The one fault of a file is `expected` (its beginning, without the line).
    private static func check(_ yaml: String, _ expected: String) {
        let found = errors(yaml)
        #expect(found.count == 1, "\(found)")
        let message = found.first?.drop { $0 != ":" }.dropFirst(2)
        #expect(message?.hasPrefix(expected) == true, "\(found)")
    }

    @Test(
        "Faults of what a route requires",
        arguments: [
            Case("require: {}", "routes[0].require: must hold at least one requirement"),
            Case("require: [admin]", "routes[0].require: must be a section of keys, not a list"),
            Case("require: {scope: {all: [a]}}", "routes[0].require.scope: unknown key (did you mean \"scopes\"?)"),
            Case("require: {scopes: [a]}", "routes[0].require.scopes: must be a section of keys, not a list"),
            Case("require: {scopes: {}}", "routes[0].require.scopes: must hold all or any"),
            Case("require: {scopes: {all: []}}", "routes[0].require.scopes.all: must name at least one"),
            Case("require: {scopes: {any: ['a b']}}", "routes[0].require.scopes.any[0]: must be a scope"),
            Case("require: {scopes: {any: ['a\"b']}}", "routes[0].require.scopes.any[0]: must be a scope"),
            Case("require: {groups: {some: [a]}}", "routes[0].require.groups: must hold all or any"),
            Case("require: {groups: {any: [a, a]}}", "routes[0].require.groups.any[1]: is given more than once"),
            Case("require: {claims: {tenant: acme}}", "routes[0].require.claims: must be a list of claims"),
            Case("require: {claims: []}", "routes[0].require.claims: must name at least one"),
            Case("require: {claims: [{equals: a}]}", "routes[0].require.claims[0].claim: is missing"),
            Case("require: {claims: [{claim: [], equals: a}]}", "routes[0].require.claims[0].claim: must name a claim"),
            Case(
                "require: {claims: [{claim: c}]}", "routes[0].require.claims[0]: must hold one of equals, in, present"),
            Case(
                "require: {claims: [{claim: c, equals: a, present: true}]}",
                "routes[0].require.claims[0]: must hold one of equals, in, present, not several"),
            Case("require: {claims: [{claim: c, in: []}]}", "routes[0].require.claims[0].in: must name at least one"),
            Case(
                "require: {claims: [{claim: c, present: false}]}", "routes[0].require.claims[0].present: must be true"),
            Case("require: {email_verified: false}", "routes[0].require.email_verified: must be true"),
            Case("require: {max_age: 0s}", "routes[0].require.max_age: must be a duration from 1s to 365d"),
            Case("access: public, require: {max_age: 5m}", "routes[0].require: has no effect on a public route"),
        ])
    func requirements(_ value: Case) {
        var sample = Sample()
        sample.routes = "routes: [{path: /a, upstream: api, \(value.yaml)}]"
        let found = errors(sample.yaml).filter { !$0.contains(".some: unknown key") }
        #expect(found.count == 1, "\(found)")
        let message = found.first?.drop { $0 != ":" }.dropFirst(2)
        #expect(message?.hasPrefix(value.expected) == true, "\(found)")
    }

    @Test(
        "Only who brings a token has a subject for the path",
        arguments: [
            Case(
                "{path: '/u/{sub}', upstream: api, access: optional}", "routes[0].path: \"{sub}\" is the subject of a"),
            Case("{path: '/u/{sub}', upstream: api, access: public}", "routes[0].path: \"{sub}\" is the subject of a"),
            Case("{path: '/u/x{sub}', upstream: api}", "routes[0].path: must hold only characters of a URL's path"),
            Case(
                "{path: '/u/{id}', upstream: api}",
                "routes[0].path: \"*\" stands for any one segment, and {sub} for one that is the token's subject"),
            Case("{path: '/{sub}/{sub}', upstream: api}", "routes[0].path: pattern \"/{sub}/{sub}\" holds"),
        ])
    func subjects(_ value: Case) {
        var sample = Sample()
        sample.routes = "routes: [\(value.yaml)]"
        Self.check(sample.yaml, value.expected)
    }

    @Test("A header of a claim is no route's to set")
    func claimHeaders() throws {
        var sample = Sample()
        sample.more = "identity: {claims: {X-Tenant: 'custom:tenant', X-Country: [address, country]}}"
        sample.routes = "routes: [{path: /a, upstream: api, request_headers: {add: {x_tenant: a}}}]"
        Self.check(sample.yaml, "routes[0].request_headers.add.x_tenant: this header is the gateway's own")
        sample.routes = "routes: [{path: /a, upstream: api}]"
        let claims = try load(sample.yaml).identity.claims
        #expect(
            claims == [
                IdentityClaim(header: "X-Tenant", claim: ClaimPath(["custom:tenant"])),
                IdentityClaim(header: "X-Country", claim: ClaimPath(["address", "country"])),
            ])
    }

    @Test("What a route requires is read in full")
    func readsRequirements() throws {
        var sample = Sample()
        sample.routes = """
            routes:
              - path: /users/{sub}/**
                upstream: api
                require:
                  scopes: {all: [a], any: [b/c, d]}
                  groups: {all: [e], any: [f g]}
                  claims:
                    - {claim: "custom:tenant", equals: acme}
                    - {claim: [address, country], in: [DE, 7]}
                    - {claim: plan, present: true}
                  email_verified: true
                  max_age: 10m
            """
        let expected = Requirements(
            allScopes: ["a"], anyScope: ["b/c", "d"], allGroups: ["e"], anyGroup: ["f g"],
            claims: [
                ClaimCondition(ClaimPath(["custom:tenant"]), .oneOf(["acme"])),
                ClaimCondition(ClaimPath(["address", "country"]), .oneOf(["DE", "7"])),
                ClaimCondition(ClaimPath(["plan"]), .present),
            ], emailVerified: true, maximumAge: 600)
        let route = try #require(try load(sample.yaml).routes.first)
        #expect(route.requirements == expected)
        #expect(route.path == "/users/{sub}/**")
    }
}
