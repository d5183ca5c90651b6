import Foundation

/// Runs `body` with the path of a directory of its own, which is removed afterwards.
package func withDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "gatehouse-tests-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// The permission bits of a file.
package enum FileMode {
    package static func of(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    package static func set(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}
