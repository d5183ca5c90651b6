import HTTPTypes
import Testing

@testable import Pipeline

@Suite("Direct Cognito traffic")
struct CognitoTrafficTests {
    static let inspector = CognitoGuard(
        hostedDomains: ["Login.Example.org", "hosted.example:8443"],
        endpoints: [
            "http://127.0.0.1:9229", "cognito.internal", "https://idp.example.net/path", "[::1]:9229",
            "http://plain.example", "[2001:db8::1]",
        ])

    static func request(
        _ fields: [(String, String)] = [], method: HTTPRequest.Method = .post, authority: String? = "api.example.com"
    ) throws -> HTTPRequest {
        var request = HTTPRequest(method: method, scheme: "https", authority: authority, path: "/")
        for (name, value) in fields {
            request.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return request
    }

    @Test(
        "An address of Cognito is recognised in any spelling",
        arguments: [
            "cognito-idp.eu-west-1.amazonaws.com", "COGNITO-IDP.eu-west-1.AmazonAWS.com",
            "cognito-idp.eu-west-1.amazonaws.com:443", "cognito-idp.eu-west-1.amazonaws.com.",
            "cognito-idp.eu-west-1.amazonaws.com.:8443", "cognito-idp-fips.us-east-1.amazonaws.com",
            "cognito-idp.cn-north-1.amazonaws.com.cn", "cognito-idp.eu-west-1.api.aws",
            "vpce-1.cognito-idp.eu-west-1.vpce.amazonaws.com", "user@cognito-idp.eu-west-1.amazonaws.com",
            "a:b@cognito-idp.eu-west-1.amazonaws.com:443",
            "mypool.auth.eu-west-1.amazoncognito.com", "mypool.auth-fips.us-gov-west-1.amazoncognito.com:443",
            "login.example.org", "LOGIN.example.org.:443", "127.0.0.1:9229", "cognito.internal", "cognito.internal:1",
            "idp.example.net", "idp.example.net:443", "[::1]:9229", "127.0.0.1.:9229", "[2001:db8::1]",
            "[2001:db8::1]:99", "plain.example",
            "plain.example:80",
            "hosted.example", "hosted.example:443", "hosted.example:8443",
            "cognito-idp.cn-north-1.api.amazonwebservices.com.cn",
            "cognito-idp-fips.us-gov-west-1.amazonaws.com", "cognito-idp-fips.us-east-1.api.aws",
            "cognito-idp.eusc-de-east-1.amazonaws.eu", "COGNITO-IDP.eusc-de-east-1.amazonaws.EU.:443",
            "cognito-idp-fips.eusc-de-east-1.api.amazonwebservices.eu",
            "mypool.auth.eusc-de-east-1.amazoncognito.eu", "mypool.auth-fips.eusc-de-east-1.amazoncognito.eu:443",
            "mypool.auth.cn-north-1.amazoncognito.com.cn",
            "cognito-idp.us-iso-east-1.c2s.ic.gov", "cognito-idp-fips.us-iso-east-1.c2s.ic.gov:443",
            "cognito-idp.us-iso-east-1.api.aws.ic.gov", "cognito-idp.us-isob-east-1.sc2s.sgov.gov",
            "cognito-idp.us-isob-east-1.api.aws.scloud", "cognito-idp.eu-isoe-west-1.cloud.adc-e.uk",
            "cognito-idp.eu-isoe-west-1.api.cloud-aws.adc-e.uk", "cognito-idp.us-isof-south-1.csp.hci.ic.gov",
            "cognito-idp.us-isof-south-1.api.aws.hci.ic.gov",
            "vpce-1.cognito-idp.us-iso-east-1.vpce.c2s.ic.gov",
        ])
    func cognitoHosts(authority: String) throws {
        let byAuthority = Self.inspector.inspect(try Self.request(authority: authority))
        #expect(byAuthority == DirectCognitoCall(operation: nil, application: "unknown"))
        #expect(Self.inspector.inspect(try Self.request(method: .connect, authority: authority)) != nil)
        #expect(Self.inspector.inspect(try Self.request([("Host", authority)])) != nil)
    }

    @Test(
        "Any other address is not",
        arguments: [
            "api.example.com", "amazonaws.com", ".amazonaws.com", "s3.eu-west-1.amazonaws.com",
            "cognito-idp.example.com", "cognito-identity.eu-west-1.amazonaws.com", "amazoncognito.com",
            "cognito-idp.eu-west-1.amazonaws.com.example.org", "xcognito-idp.eu-west-1.amazonaws.com",
            "mypool.eu-west-1.amazoncognito.com", "mypool.eusc-de-east-1.amazoncognito.eu", "amazoncognito.eu",
            "auth.amazoncognito.eu.example.org", "cognito-idp.amazonaws.eu.example.org", "c2s.ic.gov",
            "s3.us-iso-east-1.c2s.ic.gov", "cognito-idp.example.eu", "cognito-idp.adc-e.uk", "example.scloud",
            "cognito-identity.eusc-de-east-1.amazonaws.eu", "notlogin.example.org", "127.0.0.1:8080", "127.0.0.1",
            "idp.example.net:8443", "", ":", "[::1]:8080", "[::1]", "@", "....",
            "[::2]:9229", "[2001:db8::2]:99", "[::1:9229", "plain.example:8080",
        ])
    func otherHosts(authority: String) throws {
        #expect(Self.inspector.inspect(try Self.request(authority: authority)) == nil)
        #expect(Self.inspector.inspect(try Self.request(authority: nil)) == nil)
    }

    @Test(
        "An X-Amz-Target of the user-pools API counts, by a bounded name",
        arguments: [
            ("AWSCognitoIdentityProviderService.InitiateAuth", "InitiateAuth"),
            ("awscognitoidentityproviderservice.SignUp", "SignUp"),
            (" AWSCognitoIdentityProviderService.AdminGetUser", "AdminGetUser"),
            ("AWSCognitoIdentityProviderService.initiateauth", "other"),
            ("AWSCognitoIdentityProviderService.Made\"Up", "other"),
            ("AWSCognitoIdentityProviderService.", "other"),
        ])
    func targets(value: String, operation: String) throws {
        let request = try Self.request([("x-AMZ-target", value), ("User-Agent", "MyApp/4.2.1 CFNetwork/1")])
        let expected = DirectCognitoCall(operation: operation, application: "MyApp/4.2.1")
        #expect(Self.inspector.inspect(request) == expected)
    }

    @Test("A second X-Amz-Target is looked at as well; another service's is nobody's")
    func otherTargets() throws {
        let service = "DynamoDB_20120810.GetItem"
        #expect(Self.inspector.inspect(try Self.request([("X-Amz-Target", service)])) == nil)
        let both = [("X-Amz-Target", service), ("X-Amz-Target", "AWSCognitoIdentityProviderService.SignUp")]
        #expect(Self.inspector.inspect(try Self.request(both))?.operation == "SignUp")
        for other in ["SignUp", "InitiateAuth"] {
            let two = ["SignUp", other].map { ("X-Amz-Target", "AWSCognitoIdentityProviderService.\($0)") }
            #expect(Self.inspector.inspect(try Self.request(two))?.operation == "other")
        }
    }

    @Test("A signature scoped to Cognito counts, another or a bearer token does not")
    func signatures() throws {
        let scoped = "AWS4-HMAC-SHA256 Credential=AK/20260101/eu-west-1/cognito-idp/aws4_request, Signature=0"
        #expect(Self.inspector.inspect(try Self.request([("Authorization", scoped)])) != nil)
        let storage = "AWS4-HMAC-SHA256 Credential=AK/20260101/eu-west-1/s3/aws4_request, Signature=0"
        #expect(Self.inspector.inspect(try Self.request([("Authorization", storage)])) == nil)
        let longer = scoped.replacing("cognito-idp", with: "cognito-idps")
        #expect(Self.inspector.inspect(try Self.request([("Authorization", longer)])) == nil)
        let bearer = "Bearer a/cognito-idp/b"
        #expect(Self.inspector.inspect(try Self.request([("Authorization", bearer)])) == nil)
    }

    @Test("Blanks before a value hide nothing", arguments: [" ", "\t", "  "])
    func blanks(blank: String) throws {
        let values = [
            ("X-Amz-Target", "AWSCognitoIdentityProviderService.SignUp"),
            ("Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260101/eu-west-1/cognito-idp/aws4_request"),
        ]
        for (name, value) in values {
            let field = HTTPField(name: try #require(HTTPField.Name(name)), lenientValue: Array((blank + value).utf8))
            var request = try Self.request()
            request.headerFields.append(field)
            #expect(Self.inspector.inspect(request) != nil)
            #expect(!InboundFields().passes(field, connectionOptions: []))
        }
    }

    /// Row 88.
    @Test(
        "The application is one bounded, safe product",
        arguments: [
            ("MyApp/1.2 (iPhone; iOS 17) x/y", "MyApp/1.2"), ("  Boto3/1.2.3", "Boto3/1.2.3"), ("", "unknown"),
            ("A\u{1b}[31m\"B", "A__31m_B"), ("é/1", "__/1"),
            (String(repeating: "a", count: 99), String(repeating: "a", count: 64)),
        ])
    func applications(userAgent: String, application: String) throws {
        let name = try #require(HTTPField.Name("User-Agent"))
        var request = try Self.request(authority: "login.example.org")
        request.headerFields.append(HTTPField(name: name, lenientValue: Array(userAgent.utf8)))
        #expect(Self.inspector.inspect(request)?.application == application)
    }

    @Test("The refusal has Cognito's shape and names the login to use")
    func answer() throws {
        let answer = DirectCognitoAnswer(loginPath: "/auth/login")
        let response = answer.response(requestID: "id-1")
        #expect(response.status.code == 403)
        #expect(response.headerFields[.contentType] == "application/x-amz-json-1.1")
        #expect(response.headerFields[.cacheControl] == "no-store")
        #expect(response.headerFields[try #require(HTTPField.Name("x-amzn-errortype"))] == "ForbiddenException:")
        #expect(response.headerFields[try #require(HTTPField.Name("x-amzn-requestid"))] == "id-1")
        let message =
            "Amazon Cognito can't be called directly through this gateway. Sign in with POST /auth/login instead."
        #expect(
            String(decoding: answer.body, as: UTF8.self) == #"{"__type":"ForbiddenException","message":"\#(message)"}"#)
    }
}
