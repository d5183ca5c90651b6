internal import Encoding

extension UserPool {
    /// Signs with new keys, with new ids, from now on.
    ///
    /// - Parameter keepingOld: Whether the old keys stay in the key set and their tokens good.
    func rotateKeys(keepingOld: Bool) async throws -> JSONObject {
        try await keys.rotate(to: PoolKeys.make(random), keepingOld: keepingOld, store: store)
        return keys.keySet
    }
}
