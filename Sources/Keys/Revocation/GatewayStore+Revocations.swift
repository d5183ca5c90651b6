internal import FoundationEssentials
package import Pipeline
package import Store

extension GatewayStore {
    /// The revocations, read without changing the store; none if no gateway has stored anything yet.
    ///
    /// - Throws: ``StartupError``
    package static func revocations(in stateDirectory: String, now: Int64) async throws(StartupError) -> RevocationList
    {
        try checkDirectory(stateDirectory)
        let path = Self.path(in: stateDirectory)
        guard FileManager.default.fileExists(atPath: path) else { return .empty }
        do {
            let records = try await Store(reading: path).records.revocations.all(now: now)
            return RevocationList.empty.adding(records.compactMap(Revocation.init))
        } catch {
            throw StartupError(description: "\(path): revocations cannot be read: \(StoreError.words(error))")
        }
    }
}
