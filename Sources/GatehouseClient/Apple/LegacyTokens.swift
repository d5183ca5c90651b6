public import Foundation

/// A token that an older version of the app stored.
public struct LegacyToken: Sendable, Hashable {
    /// A refresh token: the gateway's, or one of Cognito's own, which a gateway with `take_over_sessions` accepts. With
    /// `isSession`, a session's token of Sign in with Apple at the gateway.
    public var token: Secret
    public var isSession = false
    /// The app client that a refresh token of Cognito's is of; nil to let the gateway try those that it lists.
    public var clientID: String?
    /// The key that the pool gave to the device, if it tracks devices.
    public var deviceKey: String?
    /// The identifier that the older version sent in `device_info`, which the device keeps; nil to derive one.
    public var deviceID: String?

    public init(_ token: String) { self.token = Secret(token) }
}

/// A place where older versions of the app left tokens.
public struct LegacyTokens: Sendable {
    let read: @Sendable () async throws -> LegacyToken?
    let remove: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - read: returns the token; nil if there is none.
    ///   - remove: removes it from there, once the gateway's session is stored.
    public init(
        read: @escaping @Sendable () async throws -> LegacyToken?, remove: @escaping @Sendable () async throws -> Void
    ) {
        (self.read, self.remove) = (read, remove)
    }

    /// A text or data in the standard UserDefaults, or in those of a suite.
    ///
    /// - Parameter others: further keys to remove with it, such as that of the access token.
    public static func userDefaults(
        _ key: String, suite: String? = nil, removing others: [String] = [],
        token: @escaping @Sendable (Data) -> LegacyToken? = { LegacyToken(String(decoding: $0, as: UTF8.self)) }
    ) -> LegacyTokens {
        let defaults: @Sendable () -> UserDefaults = { suite.flatMap { UserDefaults(suiteName: $0) } ?? .standard }
        return LegacyTokens {
            let text = defaults().string(forKey: key).map { Data($0.utf8) }
            return (text ?? defaults().data(forKey: key)).flatMap(token)
        } remove: {
            for key in [key] + others { defaults().removeObject(forKey: key) }
        }
    }

    /// An item in the Keychain, of another service.
    public static func keychain(
        _ keychain: any KeychainAccess, service: String, account: String, accessGroup: String? = nil,
        token: @escaping @Sendable (Data) -> LegacyToken? = { LegacyToken(String(decoding: $0, as: UTF8.self)) }
    ) -> LegacyTokens {
        let query = KeychainQuery(service: service, account: account, accessGroup: accessGroup)
        return LegacyTokens {
            let (status, item) = keychain.copy(query)
            _ = try KeychainStatus.succeeded(status, unless: KeychainStatus.itemNotFound, accessGroup)
            return item.flatMap { token($0.data) }
        } remove: {
            _ = try KeychainStatus.succeeded(keychain.delete(query), unless: KeychainStatus.itemNotFound, accessGroup)
        }
    }
}
