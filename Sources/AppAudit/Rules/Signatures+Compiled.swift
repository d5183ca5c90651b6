extension Signatures {
    /// The names that compilers keep in programs: classes of Objective-C and Swift, descriptors in DEX, names of Dart
    /// libraries, and properties in JavaScript bytecode.
    static let compiled: [Signature] =
        [
            "AWSCognitoIdentityUserPool", "AWSCognitoIdentityProviderErrorDomain", "AWSMobileClient", "AWSCognitoAuth",
            "AWSCognitoAuthPlugin", "CognitoUserPool", "CognitoIdentityProviderClient",
            "CognitoIdentityServiceProvider",
            "AmplifyAuthCognito",
        ].map { Signature(.cognitoSDK, $0).inFiles(.binaries) }
        // Without the extension, the name is also that of a class for identity pools in Android's SDK.
        + [Signature(.cognitoSDK, "AWSCognitoIdentityProvider.framework").inFiles(.binaries)]
        + [
            "Lcom/amazonaws/mobileconnectors/cognitoidentityprovider/", "Lcom/amazonaws/mobileconnectors/cognitoauth/",
            "Lcom/amazonaws/services/cognitoidentityprovider/", "Lcom/amazonaws/mobile/client/AWSMobileClient",
            "Laws/sdk/kotlin/services/cognitoidentityprovider/",
            "Lsoftware/amazon/awssdk/services/cognitoidentityprovider/",
            "com/amazonaws/services/cognitoidentityprovider/",
            "aws/sdk/kotlin/services/cognitoidentityprovider/", "package:amplify_auth_cognito",
            "package:amazon_cognito_identity_dart", "19AWSCognitoAuthPlugin", "20AWSCognitoAuthPlugin",
            "Lcom/amazonaws/RNAWSCognito",
            "amazon-cognito-identity-js",
        ].map { Signature(.cognitoSDK, $0).inFiles(.binaries).prefix() }
        + [
            "Lcom/amplifyframework/auth/", "com/amplifyframework/auth/cognito/", "7Amplify12AuthCategory",
            "package:amplify_authenticator/",
        ].map { Signature(.amplifyAuth, $0).inFiles(.binaries).prefix() }
        + ["AWSCognitoCredentialsProvider", "Lcom/amazonaws/auth/CognitoCachingCredentialsProvider"].map {
            Signature(.identityPool, $0).inFiles(.binaries).prefix()
        }
        + ["COGNITO_CLIENT_SECRET", "cognitoClientSecret", "COGNITO_APP_CLIENT_SECRET"].map {
            Signature(.clientSecret, $0).inFiles(.binaries)
        }
}
