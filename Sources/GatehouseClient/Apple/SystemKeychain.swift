#if canImport(Security)
    public import Foundation
    import Security

    /// The system's Keychain; on macOS the data protection keychain.
    public struct SystemKeychain: KeychainAccess {
        public init() {}

        public func copy(_ query: KeychainQuery) -> (status: Int32, item: KeychainItem?) {
            var attributes = Self.attributes(query)
            attributes[kSecReturnAttributes as String] = true
            attributes[kSecReturnData as String] = true
            attributes[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = unsafe SecItemCopyMatching(attributes as CFDictionary, &result)
            guard status == errSecSuccess, let found = result as? [String: Any],
                let data = found[kSecValueData as String] as? Data
            else { return (status, nil) }
            let item = KeychainItem(
                service: query.service, account: query.account,
                accessGroup: found[kSecAttrAccessGroup as String] as? String,
                accessibility: Self.accessibility(found[kSecAttrAccessible as String] as? String),
                digest: found[kSecAttrGeneric as String] as? Data, data: data)
            return (status, item)
        }

        public func add(_ item: KeychainItem) -> Int32 {
            let query = KeychainQuery(
                service: item.service, account: item.account, accessGroup: item.accessGroup, digest: item.digest)
            var attributes = Self.attributes(query)
            attributes[kSecValueData as String] = item.data
            attributes[kSecAttrAccessible as String] =
                item.accessibility == .whenUnlocked
                ? kSecAttrAccessibleWhenUnlockedThisDeviceOnly : kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            return SecItemAdd(attributes as CFDictionary, nil)
        }

        public func update(_ query: KeychainQuery, data: Data, digest: Data) -> Int32 {
            let new: [String: Any] = [kSecValueData as String: data, kSecAttrGeneric as String: digest]
            return SecItemUpdate(Self.attributes(query) as CFDictionary, new as CFDictionary)
        }

        public func delete(_ query: KeychainQuery) -> Int32 { SecItemDelete(Self.attributes(query) as CFDictionary) }

        private static func attributes(_ query: KeychainQuery) -> [String: Any] {
            var attributes: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: query.service,
                kSecAttrAccount as String: query.account,
                kSecAttrSynchronizable as String: false,
                // Without effect but on macOS, where the file-based keychain knows no access groups.
                kSecUseDataProtectionKeychain as String: true,
            ]
            attributes[kSecAttrAccessGroup as String] = query.accessGroup
            attributes[kSecAttrGeneric as String] = query.digest
            return attributes
        }

        private static func accessibility(_ value: String?) -> KeychainAccessibility? {
            switch value {
            case (kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)?: .afterFirstUnlock
            case (kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String)?: .whenUnlocked
            default: nil
            }
        }
    }

    extension KeychainStore {
        /// A store in the system's Keychain.
        ///
        /// - Parameters:
        ///   - service: the item's service, such as the app's bundle identifier.
        ///   - accessGroup: for apps that share the session with extensions; nil for the app's own.
        public init(
            service: String, accessGroup: String? = nil, accessibility: KeychainAccessibility = .afterFirstUnlock
        ) {
            self.init(
                SystemKeychain(), service: service, accessGroup: accessGroup, accessibility: accessibility)
        }
    }
#endif
