public import Foundation

/// A store in the Keychain: one generic password, which stays on this device. An app and its extensions share it
/// through an access group.
public struct KeychainStore: SessionStore {
    private let keychain: any KeychainAccess
    private let query: KeychainQuery
    private let accessibility: KeychainAccessibility

    /// - Parameter accessGroup: the group that the app's entitlements name, with the team's prefix; nil for the app's
    ///   own. An item that is found in another group of the app moves to this one.
    public init(
        _ keychain: any KeychainAccess, service: String, accessGroup: String? = nil,
        accessibility: KeychainAccessibility = .afterFirstUnlock
    ) {
        (self.keychain, self.accessibility) = (keychain, accessibility)
        query = KeychainQuery(service: service, account: "session", accessGroup: accessGroup)
    }

    /// An item that can also be written while the device is locked.
    public var signOuts: (any SessionStore)? {
        KeychainStore(keychain, service: query.service + ".ended", accessGroup: query.accessGroup)
    }

    public func read() throws -> Data? { try found()?.data }

    public func replace(_ old: Data?, with new: Data?) throws -> Bool {
        let current = try found()
        guard current?.data == old else { return false }
        guard let current else {
            return try new.map { try succeeded(keychain.add(item($0)), unless: KeychainStatus.duplicateItem) } ?? true
        }
        // The digest is in the query: once another process has written, the item is not found.
        if let new, current.accessibility == accessibility {
            let status = keychain.update(current.attributes, data: new, digest: Self.digest(new))
            return try succeeded(status, unless: KeychainStatus.itemNotFound)
        }
        guard try succeeded(keychain.delete(current.attributes), unless: KeychainStatus.itemNotFound) else {
            return false
        }
        guard let new else { return true }
        let status = keychain.add(item(new, in: current.attributes.accessGroup))
        if status != KeychainStatus.success, status != KeychainStatus.duplicateItem { _ = keychain.add(current) }
        return try succeeded(status, unless: KeychainStatus.duplicateItem)
    }

    /// The item, in the store's group. One that an earlier version left in another group moves.
    private func found() throws -> KeychainItem? {
        if let item = try copy(query) { return item }
        guard query.accessGroup != nil else { return nil }
        var anywhere = query
        anywhere.accessGroup = nil
        guard let old = try copy(anywhere) else { return nil }
        let isMoved = try succeeded(keychain.add(item(old.data)), unless: KeychainStatus.duplicateItem)
        // Read back before the other copy goes, which stays if it has changed since.
        guard let new = try copy(query) else { return old }
        if isMoved, new.data == old.data { _ = keychain.delete(old.attributes) }
        return new
    }

    private func copy(_ query: KeychainQuery) throws -> KeychainItem? {
        let (status, item) = keychain.copy(query)
        guard try succeeded(status, unless: KeychainStatus.itemNotFound) else { return nil }
        guard let item else { throw StoreFailure.failed("the Keychain returned an item without data") }
        return item
    }

    private func item(_ data: Data, in group: String? = nil) -> KeychainItem {
        var attributes = query
        attributes.accessGroup = query.accessGroup ?? group
        attributes.digest = Self.digest(data)
        return KeychainItem(attributes: attributes, accessibility: accessibility, data: data)
    }

    static func digest(_ data: Data) -> Data { Data(SHA256.hash(Array(data))) }

    private func succeeded(_ status: Int32, unless other: Int32) throws -> Bool {
        try KeychainStatus.succeeded(status, unless: other, query.accessGroup)
    }
}
