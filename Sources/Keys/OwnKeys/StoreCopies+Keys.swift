package import Settings
package import Store

extension StoreCopies {
    /// The backups of a gateway with these settings.
    package init(_ settings: GatewaySettings) {
        self.init(stateDirectory: settings.stateDirectory)
    }

    /// The key rings in a backup.
    package static func keyRings(in copy: String) async throws -> [KeyPurpose: KeyRing] {
        var rings: [KeyPurpose: KeyRing] = [:]
        for (name, contents) in try await keys(in: Store(reading: copy)) {
            guard let purpose = KeyPurpose.allCases.first(where: { $0.fileName.utf8.elementsEqual(name.utf8) }) else {
                continue
            }
            rings[purpose] = try KeyRing(decoding: contents, for: purpose)
        }
        return rings
    }

    /// Accepts the keys of a backup only if a gateway could use them.
    package init(stateDirectory: String) {
        self.init(stateDirectory: stateDirectory) { KeyRingFile.canRead($0, asFile: $1) }
    }
}
