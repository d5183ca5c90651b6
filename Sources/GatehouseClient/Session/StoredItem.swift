import Foundation

/// The value in the store. Members that a later version adds are ignored by this one, and those that an earlier one
/// lacks have values here, so that an update of the app signs nobody out.
struct StoredItem: Codable, Sendable, Equatable {
    var version: Int? = 1
    /// The device's identifier for ``DeviceInfo/id``. It outlasts sign-outs.
    var deviceID: String
    /// Of the last sign-in on this device: it keeps its user from being locked out by others.
    var deviceToken: Secret?
    /// The token that the session was exchanged for, until it is removed from its place.
    var takenOver: Secret?
    var session: StoredSession?
}

struct StoredSession: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        /// Tokens of the pool: an access token, and a refresh token that is used once.
        case cognito
        /// The gateway's own session, as Sign in with Apple begins it: one token for both.
        case apple
    }

    /// One for each sign-in: responses of another sign-in's refresh are dropped.
    var generation = UUID()
    var kind: Kind
    var accessToken: Secret
    var refreshToken: Secret?
    var idToken: Secret?
    /// By the gateway's clock.
    var receivedAt = Date.distantPast
    var expiresAt = Date.distantPast
    var user: User

    /// The token that the next refresh shows.
    var renewal: Secret { refreshToken ?? accessToken }
}
