public import Foundation

/// The calls of the Keychain that the client needs, with the system's status codes (Security/SecBase.h).
public protocol KeychainAccess: Sendable {
    /// The first item that fits, with its attributes.
    func copy(_ query: KeychainQuery) -> (status: Int32, item: KeychainItem?)
    func add(_ item: KeychainItem) -> Int32
    /// Sets the data and its digest.
    func update(_ query: KeychainQuery, data: Data, digest: Data) -> Int32
    func delete(_ query: KeychainQuery) -> Int32
}

/// Which items a call is about, or an item's attributes.
public struct KeychainQuery: Sendable, Hashable {
    public var service: String
    public var account: String
    /// Nil for all groups of the app, and to add an item to its first one.
    public var accessGroup: String?
    /// `kSecAttrGeneric`, which makes an update conditional; nil for any.
    public var digest: Data?
}

/// A generic password.
public struct KeychainItem: Sendable, Hashable {
    public var attributes: KeychainQuery
    /// Nil for a kind that the client does not use.
    public var accessibility: KeychainAccessibility?
    public var data: Data
}

/// When an item can be read. Neither kind is in backups that another device can restore.
public enum KeychainAccessibility: Sendable, Hashable {
    /// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`: background tasks can read it.
    case afterFirstUnlock
    /// `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`.
    case whenUnlocked
}

enum KeychainStatus {
    static let success: Int32 = 0
    static let duplicateItem: Int32 = -25299
    static let itemNotFound: Int32 = -25300
    static let interactionNotAllowed: Int32 = -25308
    static let missingEntitlement: Int32 = -34018

    /// - Returns: whether the status is success; false for `other`.
    /// - Throws: ``StoreFailure`` for any third one.
    static func succeeded(_ status: Int32, unless other: Int32, _ accessGroup: String?) throws -> Bool {
        switch status {
        case success: return true
        case other: return false
        case interactionNotAllowed: throw StoreFailure.locked
        case missingEntitlement:
            let group = accessGroup.map { "the access group \($0)" } ?? "an access group of its own"
            throw StoreFailure.failed(
                "the app's entitlement keychain-access-groups lacks \(group), or the app is not signed (-34018)")
        default: throw StoreFailure.failed("the Keychain returned error \(status)")
        }
    }
}
