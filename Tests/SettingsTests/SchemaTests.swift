import Encoding
import Foundation
import Pipeline
import SettingsReader
import Testing

@testable import Settings

@Suite("The settings' schema")
struct SchemaTests {
    private static let document = JSON.object(SettingsSchema.document())

    private func schema(_ path: String...) -> JSON? {
        path.reduce(Self.document) { schema, name in schema?[name] }
    }

    @Test("Every key that a reading asks for is in it, with what it takes")
    func complete() throws {
        let recorder = SettingsSchema.recorded()
        #expect(recorder.entries.count > 200)
        for (path, entry) in recorder.entries {
            let isTyped = entry.isSection || entry.isList || entry.names != nil || !entry.scalars.isEmpty
            #expect(isTyped, "nothing reads \(path)")
            for key in entry.keys {
                let inner = path.isEmpty ? key : "\(path).\(key)"
                #expect(recorder.entries[inner] != nil, "nothing reads \(inner)")
            }
        }
        // Those that only some profiles or forms have.
        for path in [
            "issuers.*.key_id", "issuers.*.jwks_file", "issuers.*.user_pool_id", "issuers.*.groups_claim[]",
            "routes[].websocket.idle_timeout", "routes[].require.claims[].in[]", "sign_in.more_pools[].cors.origins[]",
            "upstreams.*.servers[].weight", "sign_in.apple.roles.*", "sign_in.apple.session",
            "sign_in.apple.server.private_key", "account_limits.lockout.after", "direct_cognito.client_ids[]",
        ] { #expect(recorder.entries[path] != nil, "\(path) is missing") }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }

    @Test("The reference names every key of it, in every profile and form")
    func named() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let reference = try String(contentsOf: root.appending(path: "Config/gatehouse.yaml"), encoding: .utf8)
        // Every word before a colon.
        let keys = Set(
            reference.utf8.split(separator: UInt8(ascii: ":")).map { text in
                String(decoding: text.reversed().prefix { Self.isOfName($0) }.reversed(), as: UTF8.self)
            })
        for path in SettingsSchema.recorded().entries.keys {
            // Keys that the user chooses, and elements of lists, have no name of their own.
            let name = String(path.split(separator: ".").last?.prefix { $0 != "[" } ?? "")
            guard !name.isEmpty, name != "*" else { continue }
            #expect(keys.contains(name), "\(path) is not in Config/gatehouse.yaml")
        }
    }

    @Test("What must be there is required, what a form leaves out is not")
    func required() {
        #expect(schema("required") == ["listeners", "upstreams", "routes"])
        let route = schema("properties", "routes", "items")
        #expect(route?["required"] == ["path", "upstream"])
        let issuer = schema("properties", "issuers", "additionalProperties")
        #expect(issuer?["required"] == nil)
        let server = schema("properties", "upstreams", "additionalProperties", "properties", "servers", "items")
        #expect(server?["required"] == ["url"])
    }

    @Test("Keys that nothing reads are refused, in every section")
    func closed() {
        func sections(_ schema: JSON) -> [JSONObject] {
            guard let object = schema.objectValue else { return schema.arrayValue?.flatMap(sections) ?? [] }
            return (object["properties"] == nil ? [] : [object]) + object.flatMap { sections($0.value) }
        }
        let found = sections(Self.document)
        #expect(found.count > 30)
        #expect(found.allSatisfy { $0["additionalProperties"] == false })
    }

    @Test("Defaults have the form of a file")
    func defaults() {
        func value(_ path: String...) -> JSON? {
            path.reduce(Self.document) { schema, name in schema?["properties"]?[name] }?["default"]
        }
        #expect(value("drain_timeout") == "30s")
        #expect(value("threads") == 0)
        #expect(value("limits", "header_bytes") == "32KiB")
        #expect(value("logging", "access_log") == true)
        #expect(value("account_limits", "sign_in", "account") == "10/1m")
        #expect(value("identity", "namespace") == "X-Auth-")
        let issuer = schema("properties", "issuers", "additionalProperties", "properties")
        #expect(issuer?["profile"]?["default"] == "cognito")
        // Apple's own has one, the others' has none.
        #expect(issuer?["issuer"]?["default"] == nil)
    }
}
