internal import Encoding

extension UserPool {
    /// Replaces the signing keys by new ones with new ids.
    ///
    /// - Parameter keepingOld: whether the old keys stay in the key set and their tokens stay valid.
    func rotateKeys(keepingOld: Bool) async throws -> JSONObject {
        try await keys.rotate(to: PoolKeys.make(random), keepingOld: keepingOld, store: store)
        return keys.keySet
    }
}
