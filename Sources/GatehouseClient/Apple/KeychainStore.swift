public import Foundation

/// A store in the Keychain: one generic password, which stays on this device. An app and its extensions share it
/// through an access group.
public struct KeychainStore: SessionStore {
    private let keychain: any KeychainAccess
    private let query: KeychainQuery
    private let accessibility: KeychainAccessibility

    /// - Parameters:
    ///   - accessGroup: the group that the app's entitlements name, with the team's prefix; nil for the app's own. If an
    ///     item of another group of the app is found, it moves to this one.
    public init(
        _ keychain: any KeychainAccess, service: String, account: String = "session", accessGroup: String? = nil,
        accessibility: KeychainAccessibility = .afterFirstUnlock
    ) {
        self.keychain = keychain
        self.accessibility = accessibility
        query = KeychainQuery(service: service, account: account, accessGroup: accessGroup)
    }

    public func read() throws -> Data? { try found()?.data }

    public func replace(_ old: Data?, with new: Data?) throws -> Bool {
        let current = try found()
        guard current?.data == old else { return false }
        guard let current else {
            guard let new else { return true }
            return try succeeded(keychain.add(item(new)), unless: KeychainStatus.duplicateItem)
        }
        // The digest is in the query: once another process has written, the item is not found.
        let unchanged = exactly(current)
        guard let new else {
            return try succeeded(keychain.delete(unchanged), unless: KeychainStatus.itemNotFound)
        }
        if current.accessibility == accessibility {
            let status = keychain.update(unchanged, data: new, digest: Self.digest(new))
            return try succeeded(status, unless: KeychainStatus.itemNotFound)
        }
        guard try succeeded(keychain.delete(unchanged), unless: KeychainStatus.itemNotFound) else { return false }
        let status = keychain.add(item(new, in: current.accessGroup))
        if status != KeychainStatus.success, status != KeychainStatus.duplicateItem { _ = keychain.add(current) }
        return try succeeded(status, unless: KeychainStatus.duplicateItem)
    }

    /// Deletes what an earlier installation of the app left, since the Keychain outlasts the app. Call it before
    /// ``Gatehouse/restore()`` if a reinstallation must sign out; by default it does not.
    ///
    /// - Parameter defaults: where the installation leaves its mark. Call this from the first version on that uses the
    ///   client: an installation without the mark counts as a new one.
    /// - Throws: ``StoreFailure``. Nothing is deleted before the first unlock, when defaults read as empty.
    public func endWithInstallation(markedIn defaults: UserDefaults, key: String = "GatehouseInstallation") throws {
        guard let data = try read() else { return defaults.set(true, forKey: key) }
        guard !defaults.bool(forKey: key) else { return }
        if try replace(data, with: nil) { defaults.set(true, forKey: key) }
    }

    /// The item, in the store's group. One that an earlier version left in another group moves.
    private func found() throws -> KeychainItem? {
        if let item = try copy(query) { return item }
        guard query.accessGroup != nil else { return nil }
        var anywhere = query
        anywhere.accessGroup = nil
        guard let old = try copy(anywhere) else { return nil }
        let moved = item(old.data)
        guard try succeeded(keychain.add(moved), unless: KeychainStatus.duplicateItem) else { return try copy(query) }
        // Read back before the only other copy goes. If that one has changed, it stays, and this one is the newer.
        guard let new = try copy(query) else { return old }
        if new.data == old.data { _ = keychain.delete(exactly(old)) }
        return new
    }

    private func copy(_ query: KeychainQuery) throws -> KeychainItem? {
        let (status, item) = keychain.copy(query)
        guard try succeeded(status, unless: KeychainStatus.itemNotFound) else { return nil }
        guard let item else { throw StoreFailure.failed("the Keychain returned an item without data") }
        return item
    }

    private func item(_ data: Data, in group: String? = nil) -> KeychainItem {
        KeychainItem(
            service: query.service, account: query.account, accessGroup: query.accessGroup ?? group,
            accessibility: accessibility, digest: Self.digest(data), data: data)
    }

    /// Finds an item only while it has the same data. Items that the client did not write may have no digest.
    private func exactly(_ item: KeychainItem) -> KeychainQuery {
        KeychainQuery(
            service: query.service, account: query.account, accessGroup: item.accessGroup ?? query.accessGroup,
            digest: item.digest)
    }

    static func digest(_ data: Data) -> Data { Data(SHA256.hash(Array(data))) }

    private func succeeded(_ status: Int32, unless other: Int32) throws -> Bool {
        try KeychainStatus.succeeded(status, unless: other, query.accessGroup)
    }
}
