package import Cryptography
internal import Encoding

/// Returns `SECRET_HASH`: base64(HMAC-SHA256(key: client secret, message: user name ‖ client id)). It proves to Cognito
/// that a call comes from the app client's owner.
///
/// - Parameter username: exactly the name sent in the same call; for a refresh, which sends none, the user's real name.
package func secretHash(username: String, clientID: String, clientSecret: Secret) -> String {
    let message = Array(username.utf8) + Array(clientID.utf8)
    return Base64.encode(HMACSHA256.authenticationCode(for: message, key: clientSecret.expose()))
}
