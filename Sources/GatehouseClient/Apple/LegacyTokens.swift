public import Foundation

/// A token that an older version of the app stored.
public struct LegacyToken: Sendable, Hashable {
    /// A refresh token: the gateway's, or one of Cognito's own, which a gateway with `take_over_sessions` accepts. With
    /// `isSession`, a session's token of Sign in with Apple at the gateway.
    public var token: Secret
    public var isSession: Bool
    /// The app client that a refresh token of Cognito's is of; nil to let the gateway try those that it lists.
    public var clientID: String?
    /// The key that the pool gave to the device, if it tracks devices.
    public var deviceKey: String?
    /// The identifier that the older version sent in `device_info`. The device keeps it.
    public var deviceID: String?

    public init(
        _ token: String, isSession: Bool = false, clientID: String? = nil, deviceKey: String? = nil,
        deviceID: String? = nil
    ) {
        self.token = Secret(token)
        self.isSession = isSession
        self.clientID = clientID
        self.deviceKey = deviceKey
        self.deviceID = deviceID
    }

    /// A token that is stored as text; nil if the data is empty or no text.
    public init?(text data: Data) {
        guard let text = String(data: data, encoding: .utf8), !text.isEmpty else { return nil }
        self.init(text)
    }

    /// The refresh token in what Amplify for Swift stores, wherever it is in there; nil if there is none.
    public init?(amplify data: Data) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: data),
            let token = value.first("refreshToken")
        else { return nil }
        self.init(token, deviceKey: value.first("deviceKey"))
    }
}

/// A place where older versions of the app left tokens.
public struct LegacyTokens: Sendable {
    /// Returns the token; nil if there is none.
    public var read: @Sendable () async throws -> LegacyToken?
    /// Removes it from there. Called once the gateway's session is stored.
    public var remove: @Sendable () async throws -> Void

    public init(
        read: @escaping @Sendable () async throws -> LegacyToken?, remove: @escaping @Sendable () async throws -> Void
    ) {
        self.read = read
        self.remove = remove
    }

    /// A text or data in UserDefaults.
    ///
    /// - Parameters:
    ///   - suite: nil for the standard ones.
    ///   - others: further keys to remove with it, such as that of the access token.
    public static func userDefaults(
        _ key: String, suite: String? = nil, removing others: [String] = [],
        token: @escaping @Sendable (Data) -> LegacyToken? = { LegacyToken(text: $0) }
    ) -> LegacyTokens {
        LegacyTokens {
            let defaults = UserDefaults.of(suite)
            let data = defaults.string(forKey: key).map { Data($0.utf8) } ?? defaults.data(forKey: key)
            return data.flatMap(token)
        } remove: {
            for key in [key] + others { UserDefaults.of(suite).removeObject(forKey: key) }
        }
    }

    /// An item in the Keychain, of another service.
    public static func keychain(
        _ keychain: any KeychainAccess, service: String, account: String, accessGroup: String? = nil,
        token: @escaping @Sendable (Data) -> LegacyToken? = { LegacyToken(text: $0) }
    ) -> LegacyTokens {
        let query = KeychainQuery(service: service, account: account, accessGroup: accessGroup)
        return LegacyTokens {
            let (status, item) = keychain.copy(query)
            guard try KeychainStatus.succeeded(status, unless: KeychainStatus.itemNotFound, accessGroup) else {
                return nil
            }
            return item.flatMap { token($0.data) }
        } remove: {
            _ = try KeychainStatus.succeeded(
                keychain.delete(query), unless: KeychainStatus.itemNotFound, accessGroup)
        }
    }
}

extension UserDefaults {
    fileprivate static func of(_ suite: String?) -> UserDefaults {
        suite.flatMap { UserDefaults(suiteName: $0) } ?? .standard
    }
}

extension JSONValue {
    /// The first text of that name, at any depth, in the order of the names.
    fileprivate func first(_ name: String) -> String? {
        switch self {
        case .object(let members):
            if let text = members[name]?.text { return text }
            return members.sorted { $0.key < $1.key }.lazy.compactMap { $0.value.first(name) }.first
        case .array(let elements): return elements.lazy.compactMap { $0.first(name) }.first
        default: return nil
        }
    }
}
