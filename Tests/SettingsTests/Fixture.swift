import Cryptography
import SettingsReader

@testable import Settings

/// Files that exist only in a test.
struct Files {
    var contents: [String: String]

    func read(_ path: String) throws(FileReadFailure) -> [UInt8] {
        guard let text = contents[path] else { throw .notFound }
        return Array(text.utf8)
    }
}

/// The smallest settings without a fault, sections of which a test replaces.
struct Sample {
    var listeners = "listeners: [{address: '127.0.0.1:8080'}]"
    var upstreams = "upstreams: {api: {url: 'http://127.0.0.1:8000'}}"
    var issuers = "issuers: {users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]}}"
    var routes = "routes: [{path: /api/**, upstream: api}]"
    var more = ""

    var yaml: String { [listeners, upstreams, issuers, routes, more].joined(separator: "\n") + "\n" }
}

/// Loads `yaml` as `/etc/gatehouse/gatehouse.yaml`.
func load(
    _ yaml: String, environment: [String: String] = [:], files: [String: String] = [:]
) throws(SettingsErrors) -> GatewaySettings {
    let path = "/etc/gatehouse/gatehouse.yaml"
    let files = Files(contents: files.merging([path: yaml]) { $1 })
    return try GatewaySettings.load(path: path, environment: environment) { (path) throws(FileReadFailure) in
        try files.read(path)
    }
}

/// The faults of `yaml` without the file's name: `12: routes[3].access: must be …`
func errors(
    _ yaml: String, environment: [String: String] = [:], files: [String: String] = [:]
) -> [String] {
    do {
        _ = try load(yaml, environment: environment, files: files)
        return []
    } catch {
        return error.errors.map { String($0.description.dropFirst("/etc/gatehouse/gatehouse.yaml:".count)) }
    }
}
