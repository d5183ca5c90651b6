/// The refresh tokens of Cognito's own that become sessions of the gateway's. Released apps got them before they called
/// the gateway.
package struct SessionTakeover: Sendable, Equatable {
    /// The app clients that such tokens can be of, in the order in which they are tried. The gateway's own client is
    /// among them where its tokens were given to apps; the others have no secret.
    package var clientIDs: [String]

    package init(clientIDs: [String]) {
        self.clientIDs = clientIDs
    }
}
