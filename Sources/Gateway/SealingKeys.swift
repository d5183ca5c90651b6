internal import Cryptography
internal import FoundationEssentials
internal import Settings
internal import SignIn

/// The keys that refresh tokens are sealed with: configured, or made once in the state directory.
enum SealingKeys {
    static func ring(_ configured: [SealingKeySettings], stateDirectory: String) throws -> SealingKeyRing {
        var keys: [SealingKey] = []
        for key in configured { keys.append(try SealingKey(id: key.id, key.key)) }
        guard let first = keys.first else {
            return SealingKeyRing(sealing: try SealingKey(try kept(in: stateDirectory)))
        }
        return SealingKeyRing(sealing: first, opening: Array(keys.dropFirst()))
    }

    /// Reads the key of an earlier start, or makes one that only the owner can read.
    private static func kept(in directory: String) throws -> Secret {
        let path = directory + "/sealing.key"
        if let bytes = FileManager.default.contents(atPath: path) { return Secret([UInt8](bytes)) }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let key = SecureRandom.bytes(AESGCMKey.keyByteCount)
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(key), attributes: [.posixPermissions: 0o600])
        else { throw WiringFault(description: "\(path): cannot be written") }
        return Secret(key)
    }
}
