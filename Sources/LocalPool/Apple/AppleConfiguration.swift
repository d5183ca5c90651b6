package import Cryptography

extension LocalPoolConfiguration {
    /// The local Apple: one developer team, its apps and keys, and the Apple Accounts that are there from the start.
    package struct Apple: Sendable {
        /// How long things last, in seconds.
        package struct Lifetimes: Sendable {
            package var identityToken: Int64 = 86_400
            package var code: Int64 = 300
            package var accessToken: Int64 = 3600
        }

        /// A key with which an app's servers sign client secrets: its public half.
        package struct RegisteredKey: Sendable {
            package var id: String
            package var key: VerificationKey
        }

        /// An Apple Account that is there from the first start. The configuration wins over what is stored.
        package struct Account: Sendable {
            package var email: String
            var isEmailVerified = true
            /// The user's id for this team; random, and kept, when nil.
            package var sub: String?
            var givenName: String?
            var familyName: String?
            /// Whether the user shows apps a private relay address instead.
            var hidesEmail = false
            /// 0 unsupported, 1 unknown, 2 likely real.
            package var realUserStatus: Int64 = 2

            package init(email: String) {
                self.email = email
            }
        }

        /// Tokens' `iss`, and the `aud` of client secrets.
        package var issuer = "https://appleid.apple.com"
        package var teamID: String
        /// Bundle ids and Services IDs of the team's apps.
        package var clientIDs: [String]
        package var keys: [RegisteredKey] = []
        /// Where server-to-server notifications go; nowhere when nil.
        var notificationURL: PlainURL?
        /// Whether tokens say "true" for true, as some of Apple's do.
        var writesBooleansAsText = false
        package var lifetimes = Lifetimes()
        package var accounts: [Account] = []

        package init(teamID: String, clientIDs: [String]) {
            self.teamID = teamID
            self.clientIDs = clientIDs
        }
    }
}
