import Cognito
import Cryptography
import Encoding
import HTTPClient
import Pipeline
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("Reading attributes of users")
struct UserAttributeServiceTests {
    static let rule = UserAttributeRule(issuer: "pool", attributes: ["email", "custom:plan"], failsOpen: false)
    static let user = Fixture.output([
        "Username": "ada",
        "UserAttributes": [
            ["Name": "email", "Value": "ada@example.com"], ["Name": "custom:plan", "Value": "gold"],
            ["Name": "phone_number", "Value": "+491"], ["Name": "custom:odd"], "x",
        ],
    ])
    static let found = UserAttributeAnswer.found(["email": "ada@example.com", "custom:plan": "gold"])

    /// Seconds since 1970, which tests set.
    final class Time: Sendable {
        let seconds = Atomic(Fixture.now)
        func pass(_ count: Int64) { seconds.add(count, ordering: .relaxed) }
    }

    static func service(
        _ fetcher: any Fetcher, _ time: Time = Time(), maximumFlights: Int = 64, capacity: Int = 10_000,
        log: CapturedLog = CapturedLog(),
        tally: UserAttributeTally = UserAttributeTally()
    ) -> UserAttributeService {
        let settings = UserAttributeService.Settings(
            rule: rule, endpoint: "https://cognito.test/", timeout: .seconds(2))
        return UserAttributeService(
            settings, client: CognitoClient(endpoint: settings.endpoint, fetcher: fetcher),
            tally: tally, maximumFlights: maximumFlights, capacity: capacity,
            now: { time.seconds.load(ordering: .relaxed) },
            logger: log.logger)
    }

    static func question(_ token: String = "token-1", subject: String = "ada") -> UserAttributeQuestion {
        UserAttributeQuestion(
            token: Secret(token), issuerName: "pool", subject: subject, expires: Fixture.now + 3600)
    }

    @Test("A token's attributes are read once, and only those that are wanted")
    func once() async {
        let (fetcher, time) = (RecordedFetcher(Self.user, Self.user), Time())
        let service = Self.service(fetcher, time)
        #expect(await service.answer(Self.question()) == Self.found)
        time.pass(3599)
        #expect(await service.answer(Self.question()) == Self.found)
        #expect(await fetcher.operations == ["GetUser"])
        #expect(await fetcher.bodies == [["AccessToken": "token-1"]])
        #expect(await service.answer(Self.question("token-2")) == Self.found)
        #expect(await fetcher.requests.count == 2)
    }

    @Test("However many ask for one token at once, one call is made")
    func singleFlight() async {
        let fetcher = GatedFetcher(Self.user)
        let service = Self.service(fetcher)
        await withTaskGroup(of: UserAttributeAnswer.self) { group in
            for _ in 0..<50 { group.addTask { await service.answer(Self.question()) } }
            while await fetcher.calls == 0 { await Task.yield() }
            await fetcher.open()
            for await answer in group { #expect(answer == Self.found) }
        }
        #expect(await fetcher.calls == 1)
    }

    @Test("A bounded number of tokens' attributes is remembered; a token that makes way is asked about again")
    func boundedMemory() async {
        let fetcher = RecordedFetcher(Array(repeating: .success(Self.user), count: 48))
        let service = Self.service(fetcher, capacity: 8)
        func askAboutAll() async {
            for number in 0..<24 { #expect(await service.answer(Self.question("token-\(number)")) == Self.found) }
        }
        await askAboutAll()
        #expect(await fetcher.requests.count == 24)
        #expect(await service.answer(Self.question("token-23")) == Self.found)
        #expect(await fetcher.requests.count == 24)
        await askAboutAll()
        // Eight of them were known at most.
        #expect(await fetcher.requests.count >= 24 + 16)
    }

    @Test("A bounded number of calls runs at once")
    func bounded() async {
        let fetcher = GatedFetcher(Self.user)
        let service = Self.service(fetcher, maximumFlights: 3)
        await withTaskGroup(of: UserAttributeAnswer.self) { group in
            for number in 0..<3 { group.addTask { await service.answer(Self.question("token-\(number)")) } }
            while await fetcher.calls < 3 { await Task.yield() }
            #expect(await service.answer(Self.question("token-4")) == .unavailable)
            await fetcher.open()
            for await answer in group { #expect(answer == Self.found) }
        }
        #expect(await service.answer(Self.question("token-4")) == Self.found)
    }

    @Test(
        "Failures are forgotten after seconds",
        arguments: [
            ("NotAuthorizedException", "Access Token has been revoked", .tokenRefused, 5),
            ("UserNotFoundException", "", .tokenRefused, 5),
            ("NotAuthorizedException", "User is disabled.", .tokenRefused, 5),
            ("PasswordResetRequiredException", "", .tokenRefused, 5), ("TooManyRequestsException", "", .unavailable, 2),
            ("InternalErrorException", "", .unavailable, 2), ("ResourceNotFoundException", "", .unavailable, 2),
        ] as [(String, String, UserAttributeAnswer, Int64)])
    func failures(type: String, message: String, answer: UserAttributeAnswer, lifetime: Int64) async {
        let (fetcher, time) = (RecordedFetcher(Fixture.failure(type, message), Self.user), Time())
        let service = Self.service(fetcher, time)
        #expect(await service.answer(Self.question()) == answer)
        time.pass(lifetime - 1)
        #expect(await service.answer(Self.question()) == answer)
        #expect(await fetcher.requests.count == 1)
        time.pass(1)
        #expect(await service.answer(Self.question()) == Self.found)
    }

    @Test("Calls are counted by result; what comes from memory is not")
    func counts() async {
        let (fetcher, time, tally) = (RecordedFetcher(), Time(), UserAttributeTally())
        await fetcher.append([
            Self.user, Fixture.failure("NotAuthorizedException", "Access Token has been revoked"),
            Fixture.failure("InternalErrorException"),
        ])
        let service = Self.service(fetcher, time, tally: tally)
        #expect(tally.snapshot == Self.counts(read: 0, refused: 0, failed: 0))
        for token in ["one", "two", "three"] {
            for _ in 0..<3 { _ = await service.answer(Self.question(token)) }
        }
        #expect(tally.snapshot == Self.counts(read: 1, refused: 1, failed: 1))
        let full = Self.service(fetcher, time, maximumFlights: 0, tally: tally)
        #expect(await full.answer(Self.question()) == .unavailable)
        #expect(tally.snapshot == Self.counts(read: 1, refused: 1, failed: 2))
        #expect(await fetcher.requests.count == 3)
    }

    static func counts(read: Int64, refused: Int64, failed: Int64) -> [UserAttributeTally.Reading] {
        [
            .init(result: .read, count: read), .init(result: .refused, count: refused),
            .init(result: .failed, count: failed),
        ]
    }

    @Test("The log says when they cannot be read and when they can again, and nothing of tokens or users")
    func log() async {
        let (fetcher, time, log) = (RecordedFetcher(), Time(), CapturedLog())
        await fetcher.append([
            Fixture.failure("InternalErrorException"), Fixture.failure("InternalErrorException"), Self.user,
        ])
        let service = Self.service(fetcher, time, log: log)
        for _ in 0..<3 {
            _ = await service.answer(Self.question())
            time.pass(2)
        }
        let text = log.lines.joined(separator: "\n")
        #expect(log.lines.count { $0.contains("user attributes cannot be read") } == 1)
        #expect(log.lines.count { $0.contains("user attributes are read again") } == 1)
        #expect(!text.contains("token-1") && !text.contains("ada"))
    }

    @Test("A user's attributes are read again after a change, also where a call was under way")
    func changed() async {
        let fetcher = GatedFetcher(Self.user)
        let service = Self.service(fetcher)
        async let first = service.answer(Self.question())
        async let other = service.answer(Self.question("token-2", subject: "grace"))
        while await fetcher.calls < 2 { await Task.yield() }
        await fetcher.open()
        let answers = await [first, other]
        #expect(answers == [Self.found, Self.found])
        await service.forget("ada")
        _ = await service.answer(Self.question("token-2", subject: "grace"))
        #expect(await fetcher.calls == 2)
        _ = await service.answer(Self.question())
        #expect(await fetcher.calls == 3)
    }

    @Test("Whoever waits for a call while the attributes change gets the new ones, since they keep the answer")
    func changedUnderWay() async {
        let fetcher = ChangingFetcher()
        let service = Self.service(fetcher)
        async let first = service.answer(Self.question())
        while await fetcher.calls < 1 { await Task.yield() }
        await service.forget("ada")
        await fetcher.answerFirst(Self.email("old@example.com"), then: Self.email("new@example.com"))
        let new = UserAttributeAnswer.found(["email": "new@example.com"])
        #expect(await first == new)
        #expect(await service.answer(Self.question()) == new)
        #expect(await fetcher.calls == 2)
    }

    @Test("A call counts as long as it runs, also where the attributes have changed since", .timeLimit(.minutes(10)))
    func boundedAfterChange() async {
        let fetcher = GatedFetcher(Self.user)
        let service = Self.service(fetcher, maximumFlights: 1)
        async let first = service.answer(Self.question())
        while await fetcher.calls < 1 { await Task.yield() }
        await service.forget("ada")
        #expect(await service.answer(Self.question("token-2", subject: "grace")) == .unavailable)
        await fetcher.open()
        #expect(await first == Self.found)
        #expect(await fetcher.calls == 2)
    }

    @Test("Attributes that change with every call keep nobody waiting for ever", .timeLimit(.minutes(10)))
    func changedAgainAndAgain() async {
        let fetcher = ForgettingFetcher(Self.user)
        let service = Self.service(fetcher)
        await fetcher.forget(3) { await service.forget("ada") }
        #expect(await service.answer(Self.question()) == Self.found)
        #expect(await fetcher.calls == 4)
        await service.forget("ada")
        await fetcher.forget(.max) { await service.forget("ada") }
        #expect(await service.answer(Self.question()) == .unavailable)
        #expect(await fetcher.calls == 8)
    }

    private static func email(_ address: String) -> FetchResponse {
        Fixture.output(["Username": "ada", "UserAttributes": [["Name": "email", "Value": .string(address)]]])
    }

    /// Lets something happen during its next calls.
    private actor ForgettingFetcher: Fetcher {
        private let answer: FetchResponse
        private var changes = 0
        private var change: @Sendable () async -> Void = {}
        private(set) var calls = 0

        init(_ answer: FetchResponse) { self.answer = answer }

        func forget(_ count: Int, _ change: @escaping @Sendable () async -> Void) {
            (changes, self.change) = (count, change)
        }

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            calls += 1
            if changes > 0 {
                changes -= 1
                await change()
            }
            return answer
        }
    }

    /// Holds the first call until its answer is given.
    private actor ChangingFetcher: Fetcher {
        private var held: CheckedContinuation<FetchResponse, Never>?
        private var later: FetchResponse?
        private(set) var calls = 0

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            calls += 1
            if let later { return later }
            return await withCheckedContinuation { held = $0 }
        }

        func answerFirst(_ answer: FetchResponse, then later: FetchResponse) {
            self.later = later
            held?.resume(returning: answer)
        }
    }
}
