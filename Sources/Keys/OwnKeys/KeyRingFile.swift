internal import Cryptography
internal import Encoding
package import Store

/// The keys of one purpose in the state directory: `assertion-keys.json` and so on.
package struct KeyRingFile: KeyRingStorage {
    package let purpose: KeyPurpose
    private let file: OwnerOnlyFile
    /// The file in which earlier versions stored their only sealing key, as its 32 bytes.
    private let single: OwnerOnlyFile?

    package var path: String { file.path }
    package var place: String { path }
    package var isShared: Bool { false }

    package init(_ purpose: KeyPurpose, stateDirectory: String) {
        self.purpose = purpose
        file = OwnerOnlyFile(path: "\(stateDirectory)/\(purpose.fileName)")
        single = purpose == .sealing ? OwnerOnlyFile(path: "\(stateDirectory)/\(KeyPurpose.singleSealingKeyName)") : nil
    }

    /// Whether a gateway could use these contents as the file with that name.
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

    /// The ring; nil if none has been created. Throws rather than ignore a file that cannot be used.
    package func read() throws -> KeyRing? {
        if let bytes = try file.read() { return try decode(bytes) }
        guard let bytes = try single?.read() else { return nil }
        return KeyRing(first: try NewKey.sealing(Secret(bytes)), now: 0)
    }

    /// Changes the stored ring or creates it, while other processes are locked out.
    ///
    /// - Parameter change: receives the result of ``read()`` and leaves a ring, which is written only if it differs.
    package func update(_ change: (inout KeyRing?) throws -> Void) throws -> KeyRing {
        try file.locked {
            let before = try read()
            var ring = before
            try change(&ring)
            guard let ring else { throw KeyFileError(path, "holds no keys") }
            guard ring != before else { return ring }
            try file.write(ring.encoded(for: purpose))
            single?.remove()
            return ring
        }
    }

    /// Does nothing: a file is not sealed.
    package func reseal() -> Bool { false }

    private func decode(_ bytes: [UInt8]) throws(KeyFileError) -> KeyRing {
        do {
            return try KeyRing(decoding: bytes, for: purpose)
        } catch {
            switch error {
            case .foreign: throw KeyFileError(path, "is not a file of \(purpose.rawValue) keys")
            case .damaged:
                throw KeyFileError(path, "is damaged; put back a copy, or take it away to have new keys made")
            }
        }
    }
}
