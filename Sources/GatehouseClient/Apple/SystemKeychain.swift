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
            guard let found = result as? [String: Any], let data = found[kSecValueData as String] as? Data else {
                return (status, nil)
            }
            var query = query
            query.accessGroup = found[kSecAttrAccessGroup as String] as? String
            query.digest = found[kSecAttrGeneric as String] as? Data
            var item = KeychainItem(attributes: query, data: data)
            let accessible = found[kSecAttrAccessible as String] as? String
            if accessible == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String {
                item.accessibility = .afterFirstUnlock
            } else if accessible == kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String {
                item.accessibility = .whenUnlocked
            }
            return (status, item)
        }

        public func add(_ item: KeychainItem) -> Int32 {
            var attributes = Self.attributes(item.attributes)
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
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: query.service,
                kSecAttrAccount as String: query.account, kSecAttrSynchronizable as String: false,
                // Only macOS has another one too, which knows no access groups.
                kSecUseDataProtectionKeychain as String: true,
            ]
            attributes[kSecAttrAccessGroup as String] = query.accessGroup
            attributes[kSecAttrGeneric as String] = query.digest
            return attributes
        }
    }

    extension KeychainStore {
        /// A store in the system's Keychain.
        ///
        /// - Parameter service: the item's service, such as the app's bundle identifier.
        public init(
            service: String, accessGroup: String? = nil, accessibility: KeychainAccessibility = .afterFirstUnlock
        ) {
            self.init(SystemKeychain(), service: service, accessGroup: accessGroup, accessibility: accessibility)
        }
    }
#endif
