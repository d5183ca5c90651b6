/// A kind of finding. The raw value is its stable name in all formats and in baselines.
package enum Rule: String, CaseIterable, Sendable {
    case secretHash = "secret-hash"
    case clientSecret = "client-secret"
    case amplifyAuth = "amplify-auth"
    case cognitoSDK = "cognito-sdk"
    case cognitoOperation = "cognito-operation"
    case cognitoTarget = "cognito-target"
    case cognitoHost = "cognito-host"
    case hostedDomain = "hosted-domain"
    case customDomain = "custom-domain"
    case amplifyConfiguration = "amplify-configuration"
    case cognitoPlistKey = "cognito-plist-key"
    case cognitoDependency = "cognito-dependency"
    case userPoolID = "user-pool-id"
    case identityPool = "identity-pool"
    case tokenStorage = "token-storage"

    /// The severity in code that ships. In comments, tests and documents every finding is a note.
    package var severity: Severity {
        switch self {
        case .secretHash, .clientSecret, .amplifyAuth, .cognitoSDK, .cognitoOperation, .cognitoTarget, .cognitoHost,
            .hostedDomain, .customDomain:
            .error
        case .amplifyConfiguration, .cognitoPlistKey, .cognitoDependency, .userPoolID, .identityPool, .tokenStorage:
            .warning
        }
    }

    /// A one-line description of the finding.
    package var title: String {
        switch self {
        case .secretHash: "computes or sends SECRET_HASH"
        case .clientSecret: "contains a client secret"
        case .amplifyAuth: "calls Amplify's Auth category"
        case .cognitoSDK: "uses an SDK's client of Cognito"
        case .cognitoOperation: "names an operation or flow of Cognito"
        case .cognitoTarget: "names a request target of Cognito"
        case .cognitoHost: "names the host of user pools"
        case .hostedDomain: "names a pool's domain for hosted pages"
        case .customDomain: "names a custom domain of the pool"
        case .amplifyConfiguration: "contains a configuration file of Amplify or an AWS SDK"
        case .cognitoPlistKey: "has a key for Cognito in a property list"
        case .cognitoDependency: "depends on a library that calls Cognito"
        case .userPoolID: "contains the id of a user pool"
        case .identityPool: "uses an identity pool"
        case .tokenStorage: "stores a token outside the Keychain or Keystore"
        }
    }

    /// The reason for the rule.
    package var reason: String {
        switch self {
        case .secretHash, .clientSecret:
            "Every copy of the app contains its strings. A secret in an app is public."
        case .amplifyAuth, .cognitoSDK, .cognitoOperation, .cognitoTarget:
            "The call reaches the user pool without the gateway's limits, audit log and secret."
        case .cognitoHost, .hostedDomain, .customDomain:
            "Requests to this name reach Cognito and not the gateway."
        case .amplifyConfiguration, .cognitoPlistKey, .userPoolID:
            "The app needs no name of the pool. With it, anybody can call Cognito."
        case .cognitoDependency: "The library can call Cognito, and nothing else in the app needs it."
        case .identityPool: "An identity pool gives AWS credentials to the app, which bypass the gateway."
        case .tokenStorage: "Backups and other processes can read tokens there."
        }
    }

    /// The replacement in files of this language, unless the finding's name has a specific one.
    func replacement(in language: Language) -> String {
        guard language == .swift else { return replacement }
        return switch self {
        case .amplifyAuth, .cognitoSDK, .cognitoOperation, .cognitoTarget:
            "the account calls of GatehouseClient (docs/swift-client.md)"
        case .tokenStorage: "KeychainStore of GatehouseClient (docs/swift-client.md)"
        default: replacement
        }
    }

    /// The replacement in any language.
    package var replacement: String {
        switch self {
        case .secretHash: "remove it: the gateway adds the hash"
        case .clientSecret: "remove it, and rotate it: sign_in.cognito.client_secret belongs to the gateway"
        case .amplifyAuth, .cognitoSDK: "the gateway's account calls below /api/v1/auth/ (docs/moving-apps.md)"
        case .cognitoOperation: "the gateway's account calls below /api/v1/auth/ (docs/moving-apps.md)"
        case .cognitoTarget: "a plain JSON call below /api/v1/auth/"
        case .cognitoHost: "the gateway's host"
        case .hostedDomain, .customDomain: "GET /api/v1/auth/oauth/authorize (docs/hosted-sign-in.md)"
        case .amplifyConfiguration: "delete it: the app needs the gateway's URL only"
        case .cognitoPlistKey: "delete it: the app needs the gateway's URL only"
        case .cognitoDependency: "remove it (docs/swift-client.md shows the client's code)"
        case .userPoolID: "remove it: the gateway knows the pool"
        case .identityPool: "a call to your API, which has AWS credentials of its own"
        case .tokenStorage: "the Keychain or Android's Keystore (docs/swift-client.md)"
        }
    }
}
