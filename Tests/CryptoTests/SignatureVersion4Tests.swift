import Testing

@testable import Cryptography

@Suite("AWS Signature Version 4")
struct SignatureVersion4Tests {
    static let credentials = SignatureVersion4.Credentials(
        accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))

    @Test("AWS's published test get-vanilla")
    func published() {
        let request = SignatureVersion4(
            method: "GET", path: "/",
            headers: [
                .init(name: "X-Amz-Date", value: "20150830T123600Z"),
                .init(name: "Host", value: "example.amazonaws.com"),
            ],
            body: [], scope: .init(time: "20150830T123600Z", region: "us-east-1", service: "service"))
        #expect(
            request.signature(Self.credentials.secretAccessKey)
                == "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    }

    @Test("A call to Cognito is signed as botocore 1.44.5 signs it")
    func botocore() {
        let request = SignatureVersion4(
            method: "POST", path: "/",
            headers: [
                .init(name: "X-Amz-Target", value: "AWSCognitoIdentityProviderService.AdminGetUser"),
                .init(name: "Content-Type", value: "application/x-amz-json-1.1"),
                .init(name: "X-Spaces", value: "  a   b "), .init(name: "Host", value: "127.0.0.1:9229"),
                .init(name: "X-Amz-Date", value: "20260304T050607Z"),
            ],
            body: Array(#"{"UserPoolId":"us-east-1_X"}"#.utf8),
            scope: .init(time: "20260304T050607Z", region: "eu-central-1", service: "cognito-idp"))
        #expect(
            request.authorization(Self.credentials)
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260304/eu-central-1/cognito-idp/aws4_request, "
                + "SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-spaces, "
                + "Signature=507761c8474e01efd7d1d5681c7ea7a55964f84ccb798063ca35ca8e51042375")
    }
}
