import Accounts
import ClockSteps
import Cryptography
import Encoding
import HTTPClient
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Cognito

@Suite("AWS credentials and signatures")
struct CredentialTests {
    /// A clock that is moved by hand.
    private final class Clock: SettableClock {
        private let seconds = Mutex((steady: Fixture.now, error: Int64(0)))
        var now: Int64 { seconds.withLock { $0.steady + $0.error } }
        func advance(_ count: Int64) { seconds.withLock { $0.steady += count } }
        func set(error: Int64) { seconds.withLock { $0.error = error } }
    }

    private struct NoFile: Error {}

    private func chain(
        _ environment: [String: String], file: [String: String] = [:], _ fetcher: any Fetcher = RecordedFetcher(),
        _ clock: Clock = Clock()
    ) -> AWSCredentialChain {
        AWSCredentialChain(
            AWSCredentialChain.Dependencies(
                environment: environment,
                readFile: { path in
                    guard let text = file[path] else { throw NoFile() }
                    return Array(text.utf8)
                }, fetcher: fetcher, now: { clock.now }))
    }

    private static func answer(_ id: String, expires: String) -> FetchResponse {
        Fixture.output([
            "AccessKeyId": .string(id), "SecretAccessKey": "s", "Token": "t", "Expiration": .string(expires),
        ])
    }

    @Test("The environment comes before the file, the file before the container's endpoint")
    func order() async throws {
        let environment = [
            "AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s", "HOME": "/home/g",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/role",
        ]
        let file = ["/home/g/.aws/credentials": "[default]\naws_access_key_id=file\naws_secret_access_key=s\n"]
        #expect(try await chain(environment, file: file).credentials().accessKeyID == "env")
        var without = environment
        without["AWS_ACCESS_KEY_ID"] = ""
        #expect(try await chain(without, file: file).credentials().accessKeyID == "file")
        let fetcher = RecordedFetcher(Self.answer("container", expires: "2099-01-01T00:00:00Z"))
        let found = try await chain(without, fetcher).credentials()
        #expect(found.accessKeyID == "container")
        #expect(found.sessionToken == Secret("t"))
        #expect(found.expiresAt == 4_070_908_800)
        #expect(await fetcher.requests.map(\.url) == ["http://169.254.170.2/role"])
    }

    @Test("A file is read as AWS's tools read it")
    func file() {
        let text = """
            # comment
            [other]
            aws_access_key_id = no
            [ gateway ]
            ; comment
            AWS_Access_Key_ID =  yes
            aws_secret_access_key=a=b
            """
        let entries = AWSCredentialsFile.entries(of: "gateway", in: Array(text.utf8))
        #expect(entries == ["aws_access_key_id": "yes", "aws_secret_access_key": "a=b"])
        #expect(AWSCredentialsFile.entries(of: "default", in: Array(text.utf8)).isEmpty)
    }

    @Test("A profile that is named and not there is a fault, not another profile")
    func missingProfile() async {
        let file = ["/f": "[default]\naws_access_key_id=x\naws_secret_access_key=y\n"]
        let named = chain(["AWS_SHARED_CREDENTIALS_FILE": "/f", "AWS_PROFILE": "gateway"], file: file)
        await #expect(throws: AWSCredentialError.unusable) { try await named.credentials() }
    }

    @Test(
        "Without TLS a container's endpoint must be on this machine",
        arguments: [
            ("http://127.0.0.1:9/x", true), ("http://localhost/x", true), ("http://169.254.170.23/v1", true),
            ("http://[::1]:9/", true), ("https://anywhere.example/", true), ("http://anywhere.example/", false),
            ("http://127.0.0.1@evil.example/", false), ("http://127.0.0.1.evil.example/", false),
            ("file:///etc", false),
        ])
    func endpoints(url: String, isAllowed: Bool) async {
        let fetcher = RecordedFetcher(Self.answer("x", expires: "2099-01-01T00:00:00Z"))
        let found = try? await chain(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url], fetcher).credentials()
        #expect((found != nil) == isAllowed)
        #expect(await fetcher.requests.isEmpty != isAllowed)
    }

    @Test("Credentials are kept until five minutes before their end, then replaced, and used to their end if need be")
    func renewal() async throws {
        let clock = Clock()
        // An hour after the clock's beginning.
        let first = Self.answer("first", expires: "2023-11-14T23:13:20Z")
        let fetcher = RecordedFetcher([
            .success(first), .failure(.timedOut), .success(Self.answer("second", expires: "2099-01-01T00:00:00Z")),
            .failure(.timedOut),
        ])
        let chain = chain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/role"], fetcher, clock)
        for _ in 0..<3 { #expect(try await chain.credentials().accessKeyID == "first") }
        #expect(await fetcher.requests.count == 1)
        clock.advance(3301)
        #expect(try await chain.credentials().accessKeyID == "first", "the endpoint is away")
        #expect(try await chain.credentials().accessKeyID == "second")
        #expect(await fetcher.requests.count == 3)
    }

    @Test("A clock that is wrong for a while keeps no credentials beyond their end", arguments: ClockSteps.passing)
    func steps(steps: ClockSteps) async throws {
        let clock = Clock()
        let first = Self.answer("first", expires: "2023-11-14T23:13:20Z")
        let fetcher = RecordedFetcher(first, Self.answer("second", expires: "2099-01-01T00:00:00Z"))
        let chain = chain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/role"], fetcher, clock)
        _ = try await chain.credentials()
        try await clock.take(steps) { _ = try await chain.credentials() }
        let expected = steps == .aheadAndBack ? "second" : "first"
        #expect(try await chain.credentials().accessKeyID == expected)
        clock.advance(3301)
        #expect(try await chain.credentials().accessKeyID == "second")
    }

    @Test("What has ended is not used, and without any source that is said")
    func none() async {
        let clock = Clock()
        let fetcher = RecordedFetcher(Self.answer("first", expires: "2023-11-14T22:23:20Z"))
        let chain = chain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/role"], fetcher, clock)
        _ = try? await chain.credentials()
        clock.advance(601)
        await #expect(throws: AWSCredentialError.unusable) { try await chain.credentials() }
        await #expect(throws: AWSCredentialError.none) {
            try await self.chain(["AWS_EC2_METADATA_DISABLED": "TRUE"]).credentials()
        }
    }

    @Test("Many who need credentials at once make one lookup")
    func oneLookup() async throws {
        let fetcher = GatedFetcher(Self.answer("x", expires: "2099-01-01T00:00:00Z"))
        let chain = chain(["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/role"], fetcher)
        let found = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await chain.credentials().accessKeyID } }
            while await fetcher.calls < 1 { await Task.yield() }
            await fetcher.open()
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(found == Array(repeating: "x", count: 20))
        #expect(await fetcher.calls == 1)
    }

    @Test(
        "The host that is signed is the one that is sent",
        arguments: [
            ("https://cognito-idp.eu-west-1.amazonaws.com", "cognito-idp.eu-west-1.amazonaws.com", "/"),
            ("https://h:443/", "h", "/"), ("http://h:80/p", "h", "/p"),
            ("http://127.0.0.1:9229/", "127.0.0.1:9229", "/"),
        ])
    func hosts(url: String, host: String, path: String) {
        #expect(RequestSigner.hostAndPath(of: url) == (host, path))
    }

    @Test("An administrator's sign-in is signed with time, token and host; other operations are not")
    func signature() async throws {
        let environment = [
            "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret-key", "AWS_SESSION_TOKEN": "token",
        ]
        let signer = RequestSigner(region: "eu-west-1", credentials: chain(environment), now: { Fixture.now })
        var settings = Fixture.settings()
        settings.flow = .admin
        let fetcher = RecordedFetcher(Fixture.tokens(), Fixture.tokens(refreshToken: nil))
        let accounts = try Fixture.accounts(fetcher, settings: settings, signer: signer)
        let tokens = await accounts.answer(Fixture.login())
        _ = await accounts.answer(Fixture.refresh(Secret(tokens.json["refresh_token"]?.stringValue ?? "")))
        #expect(await fetcher.operations == ["AdminInitiateAuth", "GetTokensFromRefreshToken"])
        #expect(await fetcher.bodies[0]["AuthFlow"] == "ADMIN_USER_PASSWORD_AUTH")
        #expect(await fetcher.bodies[0]["UserPoolId"] == .string(Fixture.poolID))
        let headers = await fetcher.requests[0].headers
        #expect(headers.first { $0.name == "X-Amz-Date" }?.value == "20231114T221320Z")
        #expect(headers.first { $0.name == "X-Amz-Security-Token" }?.value == "token")
        let authorization = headers.first { $0.name == "Authorization" }?.value ?? ""
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20231114/eu-west-1/cognito-idp/aws4_request, "
                    + "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="))
        #expect(await !fetcher.requests[1].headers.contains { $0.name == "Authorization" })
    }
}
