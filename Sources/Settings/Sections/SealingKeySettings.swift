package import Cryptography
internal import Encoding
internal import SettingsReader

/// A key that seals (encrypts) data that clients or the store keep.
package struct SealingKeySettings: Sendable, Equatable {
    /// Identifies the key in sealed data; not secret.
    package var id: String
    /// 32 bytes, for AES-256-GCM.
    package var key: Secret

    package init(id: String, key: Secret) {
        self.id = id
        self.key = key
    }
}

extension SealingKeySettings {
    /// Parses `id:base64`.
    fileprivate init?(_ secret: Secret) {
        let parts = secret.exposeText().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, (1...32).contains(parts[0].utf8.count),
            parts[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }),
            let key = Base64.decode(parts[1].utf8), key.count == 32
        else { return nil }
        self.init(id: String(parts[0]), key: Secret(key))
    }
}

extension SettingsMapping {
    /// Reads the list `sealing_keys`: the first key seals, all keys open. Empty if the file has none or an invalid
    /// list.
    ///
    /// - Parameter hint: the end of the error about an empty list.
    func sealingKeys(whereEmpty hint: String) -> [SealingKeySettings] {
        if isEmptyList("sealing_keys") { error("sealing_keys", "must hold at least one; \(hint)") }
        return optional("sealing_keys")?.sealingKeys() ?? []
    }
}

extension SettingsNode {
    func sealingKeys() -> [SealingKeySettings] {
        var keys: [SealingKeySettings] = []
        for element in elements(expected: "sealing keys") ?? [] {
            guard let secret = element.readSecret() else { continue }
            guard let key = SealingKeySettings(secret) else {
                element.error("must be id:key, the key being the base64 of 32 random bytes (openssl rand -base64 32)")
                continue
            }
            if keys.contains(where: { $0.id == key.id }) { element.error("another sealing key has this id") }
            keys.append(key)
        }
        return keys
    }
}
