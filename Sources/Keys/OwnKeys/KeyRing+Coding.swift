internal import Cryptography
internal import Encoding
package import Store

/// The storage format of a ring.
extension KeyRing {
    enum CodingFailure: Error {
        /// The data has no keys of this purpose.
        case foreign
        case damaged
    }

    package func encoded(for purpose: KeyPurpose) -> [UInt8] {
        let keys = keys.map { key -> JSON in
            let material = purpose.isSymmetric ? Base64.encode(key.material.expose()) : key.material.exposeText()
            return [
                "id": .string(key.id), "state": .string(key.state.rawValue),
                "created_at": .number(JSONNumber(key.createdAt)), "since": .number(JSONNumber(key.since)),
                "kept_for": .number(JSONNumber(key.keptFor)), "key": .string(material),
            ]
        }
        return JSONObject([("purpose", .string(purpose.rawValue)), ("keys", .array(keys))]).encoded() + [0x0A]
    }

    init(decoding bytes: [UInt8], for purpose: KeyPurpose) throws(CodingFailure) {
        guard let json = try? JSON.parse(bytes), json["purpose"] == .string(purpose.rawValue),
            let entries = json["keys"]?.arrayValue
        else { throw .foreign }
        let keys = entries.compactMap { StoredKey($0, for: purpose) }
        guard keys.count == entries.count, let ring = KeyRing(keys) else { throw .damaged }
        self = ring
    }
}

extension StoredKey {
    fileprivate init?(_ json: JSON, for purpose: KeyPurpose) {
        guard let id = json["id"]?.stringValue, let state = json["state"]?.stringValue.flatMap(State.init),
            let createdAt = json["created_at"]?.integerValue, let since = json["since"]?.integerValue,
            let text = json["key"]?.stringValue,
            let material = purpose.isSymmetric ? Base64.decode(text.utf8).map({ Secret($0) }) : Secret(text)
        else { return nil }
        let keptFor = json["kept_for"]?.integerValue ?? 0
        self.init(
            id: id, state: state, createdAt: createdAt, since: since, keptFor: keptFor, material: material)
    }
}
