package import Cryptography
internal import SettingsReader

/// The connection to Apple's server, authenticated as the developer team.
package struct AppleServerSettings: Sendable {
    package var teamID: String
    package var keyID: String
    /// The private key from Apple for ES256, in PEM (`.p8`).
    package var privateKey: Secret
    package var endpoint: ServiceURL
    /// The time limit of one call to Apple.
    package var timeout: Duration
}

extension AppleServerSettings {
    init?(reading keys: SettingsMapping) {
        let teamID = keys.required("team_id", .identifier)
        let keyID = keys.required("key_id", .identifier)
        let node = keys.required("private_key")
        let privateKey = node?.readSecret()
        if let privateKey, (try? P256SigningKey(pem: privateKey)) == nil {
            node?.error("must be a private key of P-256 in PEM, as Apple's .p8 files are")
        }
        let insecure = keys.value("allow_insecure_http", .boolean, default: false)
        let given = keys.optional("endpoint")
        let endpoint =
            given.map { $0.read(.url) }
            ?? ServiceURL(
                scheme: .https, host: "appleid.apple.com", port: 443, path: "")
        if endpoint?.isPlain == true, !insecure {
            given?.error("Apple is called over https only, unless allow_insecure_http is true")
        }
        let timeout = keys.value("timeout", .duration(.seconds(1) ... .seconds(60)), default: .seconds(5))
        guard let teamID, let keyID, let privateKey, let endpoint else { return nil }
        self.init(
            teamID: teamID, keyID: keyID, privateKey: privateKey, endpoint: endpoint, timeout: timeout)
    }
}
