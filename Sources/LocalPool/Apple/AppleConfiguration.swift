package import Cryptography

extension LocalPoolConfiguration {
    /// The local Apple: one developer team, its apps and keys, and the Apple Accounts that exist from the start.
    package struct Apple: Sendable {
        /// Lifetimes in seconds.
        package struct Lifetimes: Sendable {
            package var identityToken: Int64 = 86_400
            package var code: Int64 = 300
            package var accessToken: Int64 = 3600
        }

        /// The public half of a key with which an app's servers sign client secrets.
        package struct RegisteredKey: Sendable {
            package var id: String
            package var key: VerificationKey
        }

        /// An Apple Account that exists from the first start. The configuration overrides the stored account.
        package struct Account: Sendable {
            package var email: String
            var isEmailVerified = true
            /// The user's id for this team; nil: random, and stored.
            package var sub: String?
            var givenName: String?
            var familyName: String?
            /// Whether apps receive a private relay address instead of the user's own.
            var hidesEmail = false
            /// 0 unsupported, 1 unknown, 2 likely real.
            package var realUserStatus: Int64 = 2

            package init(email: String) {
                self.email = email
            }
        }

        /// The `iss` of tokens, and the `aud` of client secrets.
        package var issuer = "https://appleid.apple.com"
        package var teamID: String
        /// Bundle ids and Services IDs of the team's apps.
        package var clientIDs: [String]
        package var keys: [RegisteredKey] = []
        /// The URL of server-to-server notifications; nil: none are sent.
        var notificationURL: PlainURL?
        /// Whether tokens have booleans as text ("true"), as some of Apple's tokens do.
        var writesBooleansAsText = false
        package var lifetimes = Lifetimes()
        package var accounts: [Account] = []

        package init(teamID: String, clientIDs: [String]) {
            self.teamID = teamID
            self.clientIDs = clientIDs
        }
    }
}
