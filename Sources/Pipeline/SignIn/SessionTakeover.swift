/// The conversion of refresh tokens that Cognito issued into sessions of the gateway. Released apps got such tokens
/// before they called the gateway.
package struct SessionTakeover: Sendable, Equatable {
    /// The app clients that may have got such tokens, in the order of the attempts. The gateway's own client is one of
    /// them if its tokens were given to apps; the others have no secret.
    package var clientIDs: [String]

    package init(clientIDs: [String]) {
        self.clientIDs = clientIDs
    }
}
