internal import Cryptography
internal import Encoding
package import Store

/// The keys of one purpose in the state directory: `assertion-keys.json` and so on.
package struct KeyRingFile: Sendable {
    package let purpose: KeyPurpose
    private let file: OwnerOnlyFile
    /// Where earlier versions kept their one sealing key, as its 32 bytes.
    private let single: OwnerOnlyFile?

    package var path: String { file.path }

    package init(_ purpose: KeyPurpose, stateDirectory: String) {
        self.purpose = purpose
        file = OwnerOnlyFile(path: "\(stateDirectory)/\(purpose.fileName)")
        single = purpose == .sealing ? OwnerOnlyFile(path: "\(stateDirectory)/\(KeyPurpose.singleSealingKeyName)") : nil
    }

    /// Whether a gateway could use these contents as the file of that name.
    static func canRead(_ contents: [UInt8], asFile name: String) -> Bool {
        guard !name.hasSameBytes(as: KeyPurpose.singleSealingKeyName) else {
            return (try? NewKey.sealing(Secret(contents))) != nil
        }
        return KeyPurpose.allCases.contains { purpose in
            let file = KeyRingFile(purpose, stateDirectory: "")
            guard purpose.fileNames.contains(name), let ring = try? file.decode(contents) else { return false }
            return ring.keys.allSatisfy { key in
                purpose.isSymmetric ? (try? key.sealingKey()) != nil : (try? key.signingKey()) != nil
            }
        }
    }

    /// The ring; nil when none has been made. Throws rather than pass over a file that cannot be used.
    package func read() throws -> KeyRing? {
        if let bytes = try file.read() { return try decode(bytes) }
        guard let bytes = try single?.read() else { return nil }
        return KeyRing(first: try NewKey.sealing(Secret(bytes)), now: 0)
    }

    /// Changes what is there, or makes what is not, while no other process does.
    ///
    /// - Parameter change: gets what ``read()`` gives and leaves a ring; one that is as it was is not written.
    package func update(_ change: (inout KeyRing?) throws -> Void) throws -> KeyRing {
        try file.locked {
            let before = try read()
            var ring = before
            try change(&ring)
            guard let ring else { throw KeyFileError(path, "holds no keys") }
            guard ring != before else { return ring }
            try file.write(encode(ring))
            single?.remove()
            return ring
        }
    }

    /// The ring, made now if there is none.
    package func readOrMake(now: Int64) throws -> KeyRing {
        if let ring = try read() { return ring }
        return try update { ring in
            if ring == nil { ring = KeyRing(first: try NewKey.make(for: purpose), now: now) }
        }
    }

    private func encode(_ ring: KeyRing) -> [UInt8] {
        let keys = ring.keys.map { key -> JSON in
            let material = purpose.isSymmetric ? Base64.encode(key.material.expose()) : key.material.exposeText()
            return [
                "id": .string(key.id), "state": .string(key.state.rawValue),
                "created_at": .number(JSONNumber(key.createdAt)), "since": .number(JSONNumber(key.since)),
                "key": .string(material),
            ]
        }
        return JSONObject([("purpose", .string(purpose.rawValue)), ("keys", .array(keys))]).encoded() + [0x0A]
    }

    private func decode(_ bytes: [UInt8]) throws(KeyFileError) -> KeyRing {
        guard let json = try? JSON.parse(bytes), json["purpose"] == .string(purpose.rawValue),
            let entries = json["keys"]?.arrayValue
        else { throw KeyFileError(path, "is not a file of \(purpose.rawValue) keys") }
        let keys = entries.compactMap(key)
        guard keys.count == entries.count, let ring = KeyRing(keys) else {
            throw KeyFileError(path, "is damaged; put back a copy, or take it away to have new keys made")
        }
        return ring
    }

    private func key(_ json: JSON) -> StoredKey? {
        guard let id = json["id"]?.stringValue, let state = json["state"]?.stringValue.flatMap(StoredKey.State.init),
            let createdAt = json["created_at"]?.integerValue, let since = json["since"]?.integerValue,
            let text = json["key"]?.stringValue
        else { return nil }
        let material = purpose.isSymmetric ? Base64.decode(text.utf8).map { Secret($0) } : Secret(text)
        return material.map { StoredKey(id: id, state: state, createdAt: createdAt, since: since, material: $0) }
    }
}
