import Testing

@testable import Pipeline

@Suite("The app that a User-Agent names")
struct UserAgentApplicationTests {
    static let boto3 =
        "Boto3/1.40.2 md/Botocore#1.40.2 ua/2.1 os/linux#6.1 md/arch#x86_64 lang/python#3.11.2 md/pyimpl#CPython "
        + "cfg/retry-mode#legacy"
    static let safari =
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    static let kotlin =
        "aws-sdk-kotlin/1.0.44 ua/2.0 api/cognito-identity-provider#1.0.44 os/android#33 lang/kotlin#1.9.20"

    /// The sender, its `User-Agent`, and the application.
    static let cases: [(String, String, String)] = [
        ("an app before its SDK", "MyApp/4.2 aws-sdk-swift/1.0", "MyApp/4.2"),
        ("Apple's URL loading system", "MyApp/42 CFNetwork/1485 Darwin/23.1.0", "MyApp/42"),
        ("an app with a space in its name", "My%20App/42 CFNetwork/1485 Darwin/23.1.0", "My_App/42"),
        (
            "Alamofire", "MyApp/1.2 (com.example.myapp; build:42; iOS 17.0.0) Alamofire/5.8.1", "MyApp/1.2"
        ),
        (
            "Amplify for Swift 2.11",
            "aws-sdk-swift/1.0 api/cognito-identity-provider/1.0 os/iOS/16.0.0 lang/swift/5.7 lib/amplify-swift/2.11.7",
            "amplify-swift/2.11.7"
        ),
        (
            "Amplify for Swift 2.60",
            "aws-sdk-swift/1.5.18 ua/2.1 api/cognito_identity_provider#1.5.18 os/ios#18.0 lang/swift#5.10 m/E,N "
                + "lib/amplify-swift#2.60.1", "amplify-swift/2.60.1"
        ),
        (
            "the SDK for Swift with an application id",
            "aws-sdk-swift/1.5.18 ua/2.1 api/cognito_identity_provider#1.5.18 os/ios#18.0 lang/swift#5.10 app/MyApp-4.2",
            "MyApp-4.2"
        ),
        ("the SDK for Kotlin", kotlin, "aws-sdk-kotlin/1.0.44"),
        ("Amplify for Android", "\(kotlin) md/jvm#0 lib/amplify-android#2.14.5", "amplify-android/2.14.5"),
        ("the SDK for Kotlin with an application id", "\(kotlin) app/MyApp lib/amplify-android#2.14.5", "MyApp"),
        (
            "the old SDK for Android",
            "aws-sdk-android/2.22.5 Linux/4.14.175 Dalvik/2.1.0/0 en_US AWSMobileClient/2.22.5",
            "aws-sdk-android/2.22.5"
        ),
        ("the old SDK for iOS", "aws-sdk-iOS/2.33.0 iOS/16.0 en_US", "aws-sdk-iOS/2.33.0"),
        (
            "the SDK for JavaScript 3",
            "aws-sdk-js/3.515.0 ua/2.0 os/linux#5.10 lang/js md/nodejs#18.19.0 api/cognito-identity-provider#3.515.0 "
                + "app/MyApp", "MyApp"
        ),
        (
            "the SDK for JavaScript 2 with a suffix", "aws-sdk-nodejs/2.1500.0 linux/v18.1.0 MyApp/1.0 promise",
            "MyApp/1.0"
        ),
        ("the SDK for JavaScript 2", "aws-sdk-nodejs/2.1500.0 linux/v18.1.0 promise", "aws-sdk-nodejs/2.1500.0"),
        ("Amplify for JavaScript", "aws-amplify/6.20.0 auth/4 framework/204", "aws-amplify/6.20.0"),
        ("Amplify for Flutter", "amplify-flutter/2.6.1 Dart/3.7", "amplify-flutter/2.6.1"),
        ("boto3", boto3, "Boto3/1.40.2"),
        ("boto3 with an application id", "\(boto3) Botocore/1.40.2 app/reports", "reports"),
        ("the command line", "aws-cli/2.15.0 Python/3.11.6 Linux/6.1 exe/x86_64 prompt/off", "aws-cli/2.15.0"),
        (
            "the SDK for Java",
            "aws-sdk-java/2.20.0 Linux/5.10 OpenJDK_64-Bit_Server_VM/17 Java/17 vendor/Amazon.com io/sync http/Apache",
            "aws-sdk-java/2.20.0"
        ),
        ("Dalvik", "Dalvik/2.1.0 (Linux; U; Android 13; Pixel 7 Build/TQ3A.230805.001)", "Dalvik/2.1.0"),
        ("Dalvik with the app behind it", "Dalvik/2.1.0 (Linux; U; Android 13 (33)) MyApp/3.1", "MyApp/3.1"),
        ("okhttp", "okhttp/4.12.0", "okhttp/4.12.0"),
        ("okhttp with the app behind it", "okhttp/4.12.0 MyApp/3.1", "MyApp/3.1"),
        ("Dart", "Dart/3.2 (dart:io)", "Dart/3.2"),
        ("a web view with the app behind it", "\(safari)Mobile/15E148 MyApp/3.1", "MyApp/3.1"),
        ("a browser", "\(safari)Version/17.0 Mobile/15E148 Safari/604.1", "Mozilla/5.0"),
        ("an empty application id", "Boto3/1.40.2 app/", "Boto3/1.40.2"),
        ("an app called app", "app/1.2", "1.2"),
        ("a comment alone", "(com.example)", "unknown"),
        ("no end of a comment", "MyApp/1.2 (x MyOther/1", "MyApp/1.2"),
        ("other bytes", "aws-sdk-swift/1.0 app/a\u{1b}[31m\"b%zz", "a__31m_b_zz"),
    ]

    @Test("Its own name and version count, where they are in there", arguments: cases)
    func applications(sender: String, userAgent: String, application: String) {
        #expect(DirectCognitoCall.application(fromUserAgent: userAgent) == application, "\(sender)")
    }

    @Test("Nobody has a long one read, or counted")
    func bounds() {
        let far = String(repeating: "okhttp/4.12.0 ", count: 100) + "MyApp/1.2"
        #expect(DirectCognitoCall.application(fromUserAgent: far) == "okhttp/4.12.0")
        let long = "Boto3/1 app/" + String(repeating: "a", count: 99)
        #expect(DirectCognitoCall.application(fromUserAgent: long) == String(repeating: "a", count: 64))
    }
}
