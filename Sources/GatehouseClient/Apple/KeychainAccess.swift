public import Foundation

/// The calls of the Keychain that the client needs, with its status codes: the system's, or a test's.
public protocol KeychainAccess: Sendable {
    /// The first item that fits, with its attributes.
    func copy(_ query: KeychainQuery) -> (status: Int32, item: KeychainItem?)
    func add(_ item: KeychainItem) -> Int32
    /// Sets the data and its digest.
    func update(_ query: KeychainQuery, data: Data, digest: Data) -> Int32
    func delete(_ query: KeychainQuery) -> Int32
}

/// Status codes of the Keychain (Security/SecBase.h).
public enum KeychainStatus {
    public static let success: Int32 = 0
    public static let duplicateItem: Int32 = -25299
    public static let itemNotFound: Int32 = -25300
    /// The item cannot be read before the device is unlocked.
    public static let interactionNotAllowed: Int32 = -25308
    public static let missingEntitlement: Int32 = -34018

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

/// When an item can be read. Neither kind is in backups that another device can restore.
public enum KeychainAccessibility: Sendable, Hashable {
    /// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`: background tasks can read it.
    case afterFirstUnlock
    /// `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`.
    case whenUnlocked
}

/// Which items a call is about.
public struct KeychainQuery: Sendable, Hashable {
    public var service: String
    public var account: String
    /// Nil for all groups of the app.
    public var accessGroup: String?
    /// `kSecAttrGeneric`; nil for any.
    public var digest: Data?

    public init(service: String, account: String, accessGroup: String? = nil, digest: Data? = nil) {
        self.service = service
        self.account = account
        self.accessGroup = accessGroup
        self.digest = digest
    }
}

/// A generic password.
public struct KeychainItem: Sendable, Hashable {
    public var service: String
    public var account: String
    /// Nil to add it to the app's first group.
    public var accessGroup: String?
    /// Nil for a kind that the client does not use.
    public var accessibility: KeychainAccessibility?
    /// `kSecAttrGeneric`: it makes an update conditional.
    public var digest: Data?
    public var data: Data

    public init(
        service: String, account: String, accessGroup: String?, accessibility: KeychainAccessibility?, digest: Data?,
        data: Data
    ) {
        self.service = service
        self.account = account
        self.accessGroup = accessGroup
        self.accessibility = accessibility
        self.digest = digest
        self.data = data
    }
}
