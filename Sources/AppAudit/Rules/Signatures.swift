/// The table of all signatures.
enum Signatures {
    static let all: [Signature] =
        evidence + secrets + calls + operations + names + paths + configuration + storage + compiled

    private static let evidence: [Signature] =
        components + [
            Signature(nil, "cognito").anywhere().inAnyCase().giving(.cognito).inFiles(.all),
            Signature(nil, "amplify.auth").inAnyCase().giving(.cognito).inFiles(.all),
            Signature(nil, "awsmobileclient").anywhere().inAnyCase().giving(.cognito).inFiles(.all),
            Signature(nil, "aws-amplify").giving(.amplifyForJavaScript).inFiles(.all),
            Signature(nil, "client-cognito-identity-provider").anywhere().giving(.cognitoClientForJavaScript).inFiles(
                .all),
            Signature(nil, "sharedpreferences").anywhere().inAnyCase().giving(.preferences).inFiles(.all),
        ]

    /// Includes the closing quote, since longer names are packages without sign-in.
    private static let components: [Signature] = [
        "@aws-amplify/ui-react", "@aws-amplify/ui-angular", "@aws-amplify/ui-vue", "@aws-amplify/ui-react-native",
        "aws-amplify-react", "aws-amplify-react-native",
    ].flatMap { name in
        ["'", "\""].map { Signature(nil, name + $0).anywhere().giving(.amplifyComponents).inFiles(.all) }
    }

    private static let secrets: [Signature] =
        [Signature(.secretHash, "SECRET_HASH").inFiles(.all)]
        + ["secretHash", "SecretHash", "secret_hash", "calculateSecretHash", "getSecretHash", "computeSecretHash"]
        .map { Signature(.secretHash, $0).needing(.cognito) }
        + ["clientsecret", "client_secret", "client-secret"].map {
            Signature(.clientSecret, $0).anywhere().inAnyCase().inFiles(.all).checked(.secretValue)
        }
        + ["COGNITO_CLIENT_SECRET", "cognitoClientSecret", "COGNITO_APP_CLIENT_SECRET"].map {
            Signature(.clientSecret, $0)
        }

    private static let javaScript: Set<Language> = [.javaScript]
    private static let android: Set<Language> = [.kotlin, .java]
    private static let apple: Set<Language> = [.swift, .objectiveC]

    private static let calls: [Signature] =
        [
            Signature(.amplifyAuth, "Amplify.Auth").inCode().inLanguages([.swift, .kotlin, .java, .dart]),
            Signature(.amplifyAuth, "Auth.").with { $0.endsWord = false }.inCode().inLanguages(javaScript)
                .checked(.authFunction).needing(.amplifyForJavaScript),
            Signature(.amplifyAuth, "aws-amplify").inStrings().inLanguages(javaScript).checked(.authImport),
            Signature(.amplifyAuth, "aws-amplify/auth").inStrings().inLanguages(javaScript).checked(.package),
            Signature(.amplifyAuth, "@aws-amplify/auth").inStrings().inLanguages(javaScript).checked(.package)
                .with { $0.startsWord = false },
            Signature(.amplifyAuth, "Authenticator").inCode().inLanguages(javaScript).needing(.amplifyComponents),
            Signature(.amplifyAuth, "withAuthenticator").inCode().inLanguages(javaScript).needing(.amplifyComponents),
            Signature(.amplifyAuth, "com.amplifyframework.auth").inCode().inLanguages(android).prefix(),
        ]
        + [
            "AWSMobileClient", "AWSCognitoAuthPlugin", "AWSCognitoAuth", "CognitoUserPool", "CognitoUser",
            "CognitoUserSession", "CognitoUserAttribute", "CognitoAccessToken", "CognitoIdToken", "CognitoRefreshToken",
            "CognitoIdentityProviderClient", "CognitoIdentityProvider", "AmazonCognitoIdentityProvider",
            "AmazonCognitoIdentityProviderClient", "CognitoIdentityServiceProvider", "AmplifyAuthCognito",
            "CognitoAuthSession", "AWSCognitoAuthSession", "AuthCognitoTokensProvider", "AWSAuthUIView",
            "AWSSignInManager",
        ].map { Signature(.cognitoSDK, $0).inCode() }
        + [
            "AWSCognitoIdentityUser", "AWSCognitoIdentityProvider", "AWSCognitoIdentityInteractiveAuthentication",
            "AWSCognitoIdentityPasswordAuthentication", "AWSCognitoIdentityMultifactorAuthentication",
            "AWSCognitoIdentityNewPassword", "RNAWSCognito",
        ].map { Signature(.cognitoSDK, $0).inCode().prefix() }
        + [Signature(.cognitoSDK, "getCognitoTokens").inCode().checked(.call)]
        + ["amazon-cognito-identity-js", "amazon-cognito-auth-js", "@aws-sdk/client-cognito-identity-provider"].map {
            Signature(.cognitoSDK, $0).inStrings().inLanguages(javaScript).checked(.package).with {
                $0.startsWord = false
            }
        }
        + ["package:amplify_auth_cognito/", "package:amazon_cognito_identity_dart", "package:amplify_authenticator/"]
        .map { Signature(.cognitoSDK, $0).inStrings().inLanguages([.dart]).prefix() }
        + ["pycognito", "warrant"].map {
            Signature(.cognitoSDK, $0).inCode().inLanguages([.python]).checked(.package).needing(.cognito)
        }
        + [
            Signature(.cognitoSDK, "com.amazonaws.services.cognitoidentityprovider").inCode().inLanguages(android)
                .prefix(),
            Signature(.cognitoSDK, "com.amazonaws.mobileconnectors.cognitoidentityprovider").inCode()
                .inLanguages(android).prefix(),
            Signature(.cognitoSDK, "aws.sdk.kotlin.services.cognitoidentityprovider").inCode().inLanguages(android)
                .prefix(),
            Signature(.cognitoSDK, "software.amazon.awssdk.services.cognitoidentityprovider").inCode()
                .inLanguages(android).prefix(),
            Signature(.cognitoSDK, "cognito-idp").inStrings().inLanguages([.python]).checked(.wholeString),
        ]

    private static let operations: [Signature] =
        [
            "InitiateAuth", "AdminInitiateAuth", "RespondToAuthChallenge", "AdminRespondToAuthChallenge",
            "GetTokensFromRefreshToken", "AssociateSoftwareToken", "VerifySoftwareToken", "SetUserMFAPreference",
            "GetUserAttributeVerificationCode",
        ].map { Signature(.cognitoOperation, $0).inFiles([.programs, .binaries]).prefix().checked(.operation) }
        + [
            "initiateAuth", "adminInitiateAuth", "respondToAuthChallenge", "adminRespondToAuthChallenge",
            "initiate_auth", "admin_initiate_auth", "respond_to_auth_challenge", "getTokensFromRefreshToken",
            "confirmForgotPassword", "confirm_forgot_password", "associateSoftwareToken", "associate_software_token",
        ].map { Signature(.cognitoOperation, $0).inCode().checked(.call).needing(.cognito) }
        + [
            "SignUpCommand", "ConfirmSignUpCommand", "ForgotPasswordCommand", "ConfirmForgotPasswordCommand",
            "ChangePasswordCommand", "GlobalSignOutCommand", "RevokeTokenCommand", "GetUserCommand",
            "ResendConfirmationCodeCommand", "DeleteUserCommand", "UpdateUserAttributesCommand",
        ].map {
            Signature(.cognitoOperation, $0).inCode().inLanguages(javaScript).needing(.cognitoClientForJavaScript)
        }
        + ["authenticateUser", "confirmRegistration", "completeNewPasswordChallenge"].map {
            Signature(.cognitoOperation, $0).inCode().inLanguages(javaScript).checked(.call).needing(.cognito)
        }
        + [
            "USER_SRP_AUTH", "USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH", "ADMIN_USER_PASSWORD_AUTH",
            "ADMIN_NO_SRP_AUTH",
        ].map { Signature(.cognitoOperation, $0).inFiles([.programs, .binaries]) }

    private static let names: [Signature] = [
        Signature(.cognitoTarget, "AWSCognitoIdentityProviderService.").prefix().inFiles(.all),
        Signature(.cognitoHost, "cognito-idp.").with { $0.endsWord = false }.inFiles(.all).checked(.host),
        Signature(.cognitoHost, "cognito-idp-fips.").with { $0.endsWord = false }.inFiles(.all).checked(.host),
        Signature(.cognitoHost, "cognito-idp").inStrings().checked(.wholeString)
            .inLanguages([.swift, .objectiveC, .kotlin, .java, .javaScript, .dart]),
        Signature(.hostedDomain, ".amazoncognito.com").with { $0.startsWord = false }.inFiles(.all),
    ]

    /// The paths of a pool's hosted pages, in files about Cognito, because the domain is often in another file.
    private static let paths: [Signature] = [
        "/oauth2/authorize", "/oauth2/token", "/oauth2/userinfo", "/oauth2/revoke", "/login?client_id=",
        "/signup?client_id=", "/signup?identity_provider=", "/logout?client_id=",
    ].map { Signature(.hostedDomain, $0).anywhere().inAnyCase().inStrings().needing(.cognito) }

    private static let configuration: [Signature] =
        [Signature(.cognitoPlistKey, "Cognito").anywhere().inFiles([.data, .binaries]).checked(.plistKey)]
        + dependencies.map {
            Signature(.cognitoDependency, $0).inFiles(.manifests).inAnyCase().checked(.package).with {
                $0.startsWord = false
            }
        }
        + regions.map { Signature(.userPoolID, $0 + "_").prefix().inFiles(.all).checked(.poolID) }
        + regions.map { Signature(.identityPool, $0 + ":").prefix().inFiles(.all).checked(.identityPoolID) }
        + [
            "AWSCognitoCredentialsProvider", "CognitoCachingCredentialsProvider", "CognitoCredentialsProvider",
            "fromCognitoIdentityPool", "fromCognitoIdentity", "CognitoIdentityCredentials",
        ].map { Signature(.identityPool, $0).inCode() }

    private static let dependencies = [
        "amplify-swift", "amplify-ios", "aws-sdk-ios-spm", "aws-sdk-ios", "AWSCognito", "AWSCognitoAuth",
        "AWSCognitoAuthPlugin", "AWSCognitoIdentityProvider", "AWSCognitoIdentityProviderASF", "AWSMobileClient",
        "AWSAuthCore", "AWSUserPoolsSignIn", "AmplifyPlugins/AWSCognitoAuthPlugin",
        "com.amplifyframework:aws-auth-cognito", "com.amplifyframework.ui:authenticator",
        "com.amazonaws:aws-android-sdk-cognitoidentityprovider", "com.amazonaws:aws-android-sdk-cognitoauth",
        "com.amazonaws:aws-android-sdk-mobile-client", "com.amazonaws:aws-android-sdk-cognito",
        "com.amazonaws:aws-android-sdk-auth-userpools",
        "aws.sdk.kotlin:cognitoidentityprovider", "software.amazon.awssdk:cognitoidentityprovider",
        "aws-amplify", "aws-amplify-react-native", "@aws-amplify/auth", "@aws-amplify/react-native",
        "@aws-amplify/ui-react-native", "@aws-amplify/ui-react", "@aws-amplify/ui-angular", "@aws-amplify/ui-vue",
        "aws-amplify-react", "amplify-ui-swift-authenticator",
        "amazon-cognito-identity-js", "amazon-cognito-auth-js",
        "@aws-sdk/client-cognito-identity-provider",
        "amplify_flutter", "amplify_auth_cognito", "amplify_authenticator", "amazon_cognito_identity_dart_2",
        "pycognito", "warrant",
    ]

    private static let regions = [
        "af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1",
        "ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5",
        "ap-southeast-7", "ca-central-1", "ca-west-1", "cn-north-1", "eu-central-1", "eu-central-2", "eu-north-1",
        "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3", "il-central-1", "me-central-1",
        "me-south-1", "mx-central-1", "sa-east-1", "us-east-1", "us-east-2", "us-gov-east-1", "us-gov-west-1",
        "us-west-1", "us-west-2",
    ]

    private static let storage: [Signature] =
        ["UserDefaults", "NSUserDefaults", "@AppStorage", "forKey:", "[defaults"].map {
            Signature(.tokenStorage, $0).inCode().inLanguages(apple).checked(.storedToken).with {
                ($0.startsWord, $0.endsWord) = (false, false)
            }
        }
        + ["putString", "getString", "stringPreferencesKey"].map {
            Signature(.tokenStorage, $0).inCode().inLanguages(android).checked(.storedToken).needing(.preferences)
        }
        + [
            "AsyncStorage.setItem", "AsyncStorage.getItem", "AsyncStorage.multiSet", "localStorage.setItem",
            "localStorage.getItem",
        ].map { Signature(.tokenStorage, $0).inCode().inLanguages(javaScript).checked(.storedToken) }
        + ["setString", "getString"].map {
            Signature(.tokenStorage, $0).inCode().inLanguages([.dart]).checked(.storedToken).needing(.preferences)
        }
}
