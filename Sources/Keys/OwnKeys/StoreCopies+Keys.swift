package import Settings
package import Store

extension StoreCopies {
    /// The backups of a gateway with these settings.
    package init(_ settings: GatewaySettings) {
        self.init(stateDirectory: settings.stateDirectory)
    }

    /// Takes the keys of a backup only where a gateway could use them.
    package init(stateDirectory: String) {
        self.init(stateDirectory: stateDirectory) { KeyRingFile.canRead($0, asFile: $1) }
    }
}
