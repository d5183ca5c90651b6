package import Cryptography
package import Encoding

/// The credentials of a device that a pool tracks: Cognito's keys of it, and the secret whose verifier Cognito stores.
package struct DeviceCredentials: Sendable, Equatable {
    @Exact package var key: String
    @Exact package var groupKey: String
    package var password: Secret

    package init(key: String, groupKey: String, password: Secret) {
        self.key = key
        self.groupKey = groupKey
        self.password = password
    }
}
