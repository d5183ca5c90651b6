import Cryptography
import Encoding
import HTTPClient
import Pipeline
import TestSupport
import Testing

@testable import Cognito

@Suite("Cognito's wire protocol")
struct CognitoClientTests {
    @Test(
        "The secret hash is base64 of HMAC-SHA256 over user name and client id",
        arguments: [(Fixture.email, Fixture.emailHash), (Fixture.username, Fixture.usernameHash)])
    func hash(username: String, expected: String) {
        let hash = secretHash(
            username: username, clientID: Fixture.clientID, clientSecret: Secret(Fixture.clientSecret))
        #expect(hash == expected)
    }

    @Test("A call is one POST with the operation in X-Amz-Target and no credentials of its own")
    func request() async throws {
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: Array(#"{"Username":"u"}"#.utf8)))
        let output = try await client(fetcher).call(.getUser, ["AccessToken": "t"])
        #expect(output == ["Username": "u"])
        let sent = try #require(await fetcher.requests.first)
        #expect(sent.method == "POST")
        #expect(sent.url == "https://cognito-idp.eu-west-1.amazonaws.com/")
        #expect(
            sent.headers.map { "\($0.name): \($0.value)" } == [
                "Content-Type: application/x-amz-json-1.1",
                "X-Amz-Target: AWSCognitoIdentityProviderService.GetUser",
            ])
        #expect(sent.body == Array(#"{"AccessToken":"t"}"#.utf8))
        #expect(sent.deadline == .seconds(5))
    }

    @Test("An answer without a body is an empty output")
    func empty() async throws {
        let output = try await client(RecordedFetcher(FetchResponse(status: 200))).call(.getUser, [:])
        #expect(output.isEmpty)
    }

    @Test(
        "The error's name is found wherever Cognito and what stands before it put it",
        arguments: [
            (#"{"__type":"NotAuthorizedException","message":"m"}"#, nil),
            (#"{"__type":"com.amazonaws.cognito#NotAuthorizedException","message":"m"}"#, nil),
            (#"{"__type":"NotAuthorizedException:http://internal.amazon.com/x/","message":"m"}"#, nil),
            (#"{"__type":"a#NotAuthorizedException:http://b#c/","message":"m"}"#, nil),
            (#"{"message":"m"}"#, "NotAuthorizedException:"),
            (#"{"Message":"m"}"#, "NotAuthorizedException:http://internal.amazon.com/"),
        ] as [(String, String?)])
    func names(body: String, header: String?) async {
        let headers = header.map { [(name: "x-amzn-errortype", value: $0)] } ?? []
        let response = FetchResponse(status: 400, headers: headers, body: Array(body.utf8))
        await #expect(throws: CognitoError(type: "NotAuthorizedException", message: "m")) {
            try await client(RecordedFetcher(response)).call(.getUser, [:])
        }
    }

    @Test(
        "What is no answer of Cognito's is the provider being unavailable",
        arguments: [
            .failure(.timedOut), .failure(.cannotConnect("no route")), .failure(.responseTooLarge),
            .success(FetchResponse(status: 500, body: Array(#"{"__type":"InternalErrorException"}"#.utf8))),
            .success(FetchResponse(status: 503, body: Array("<html>".utf8))),
            .success(FetchResponse(status: 400, body: Array("<html>".utf8))),
            .success(FetchResponse(status: 302)),
            .success(FetchResponse(status: 200, body: Array("<html>".utf8))),
            .success(FetchResponse(status: 200, body: Array("[]".utf8))),
            .success(FetchResponse(status: 400, body: Array(#"{"__type":"a b\r\nc"}"#.utf8))),
        ] as [Result<FetchResponse, FetchError>])
    func unavailable(answer: Result<FetchResponse, FetchError>) async {
        do {
            _ = try await client(RecordedFetcher([answer])).call(.getUser, [:])
            Issue.record("no error")
        } catch {
            #expect(error.kind == .unavailable)
        }
    }

    @Test(
        "Failures are told apart by name and message",
        arguments: [
            ("NotAuthorizedException", "Incorrect username or password.", .badCredentials),
            ("NotAuthorizedException", "something new", .badCredentials),
            ("NotAuthorizedException", "Password attempts exceeded", .lockedOut),
            ("NotAuthorizedException", "User is disabled.", .userDisabled),
            (
                "NotAuthorizedException", "Temporary password has expired and must be reset by an administrator.",
                .temporaryPasswordExpired
            ),
            ("NotAuthorizedException", "Access Token does not have required scopes", .scopeMissing),
            ("InvalidParameterException", "Value at 'previousPassword' failed", .badCredentials),
            ("NotAuthorizedException", "Invalid session for the user, session is expired.", .invalidSession),
            ("NotAuthorizedException", "Refresh Token has been revoked", .tokenRevoked),
            ("NotAuthorizedException", "Invalid Refresh Token", .tokenRevoked),
            ("NotAuthorizedException", "Refresh Token has expired", .tokenExpired),
            ("NotAuthorizedException", "Access Token has expired", .tokenExpired),
            ("NotAuthorizedException", "Access Token has been revoked", .tokenRevoked),
            ("NotAuthorizedException", "SecretHash does not match for the client: abc", .clientSecretRefused),
            ("NotAuthorizedException", "Unable to verify secret hash for client abc", .clientSecretRefused),
            (
                "NotAuthorizedException", "Client abc is configured with secret but SECRET_HASH was not received",
                .clientSecretRefused
            ),
            ("InvalidParameterException", "USER_PASSWORD_AUTH flow not enabled for this client", .flowNotEnabled),
            (
                "InvalidParameterException",
                "1 validation error detected: Value at 'password' failed to satisfy constraint", .badCredentials
            ),
            ("InvalidParameterException", "Invalid IpAddress", .invalidParameter),
            (
                "InvalidParameterException",
                "Attributes did not conform to the schema: custom:secret_question: The attribute is required",
                .invalidParameter
            ),
            (
                "InvalidParameterException", "Client abc is configured with secret but SECRET_HASH was not received",
                .clientSecretRefused
            ),
            ("InvalidParameterException", "Invalid device key given.", .deviceUnknown),
            ("UserNotFoundException", "User does not exist.", .userNotFound),
            ("UserNotConfirmedException", "User is not confirmed.", .userNotConfirmed),
            ("PasswordResetRequiredException", "Password reset required", .passwordResetRequired),
            ("RefreshTokenReuseException", "", .tokenReused),
            ("ResourceNotFoundException", "User pool client abc does not exist.", .clientUnknown),
            ("TooManyRequestsException", "Rate exceeded", .throttled),
            ("LimitExceededException", "Attempt limit exceeded", .throttled),
            ("UnknownOperationException", "", .unsupportedOperation),
            ("UserLambdaValidationException", "PreAuthentication failed", .rejectedByTrigger),
            ("UnexpectedLambdaException", "", .poolMisconfigured),
            ("ForbiddenException", "Request not allowed due to WAF block.", .blockedByFirewall),
            ("InternalErrorException", "", .unavailable),
            ("SomethingNewException", "", .other),
        ] as [(String, String, CognitoErrorKind)])
    func kinds(type: String, message: String, expected: CognitoErrorKind) {
        #expect(CognitoError(type: type, message: message).kind == expected)
    }

    @Test("Printing an error leaves out the message, which can echo what was sent")
    func printing() {
        let error = CognitoError(type: "NotAuthorizedException", message: "hash abc does not match secret")
        #expect("\(error)" == "CognitoError(NotAuthorizedException, client-secret-refused)")
    }

    private func client(_ fetcher: RecordedFetcher) -> CognitoClient {
        CognitoClient(endpoint: "https://cognito-idp.eu-west-1.amazonaws.com/", fetcher: fetcher)
    }
}
