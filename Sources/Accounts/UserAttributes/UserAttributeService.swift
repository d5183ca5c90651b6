package import Cognito
internal import Cryptography
internal import Encoding
package import Logging
package import Pipeline
package import Telemetry

/// Reads the attributes of access tokens' users from Cognito, once for each verified token that is new to the gateway.
///
/// Event loops with the same token share one call, and its result for the token's lifetime. Failures are remembered for
/// seconds, so that an unavailable Cognito is not called for each request.
package actor UserAttributeService {
    /// The parts of the configuration that results depend on.
    package struct Settings: Sendable, Equatable {
        package var rule: UserAttributeRule
        /// The URL of Cognito's API.
        package var endpoint: String
        /// The time limit of one call.
        package var timeout: Duration

        package init(rule: UserAttributeRule, endpoint: String, timeout: Duration) {
            self.rule = rule
            self.endpoint = endpoint
            self.timeout = timeout
        }
    }

    package nonisolated let settings: Settings
    private let client: CognitoClient
    private let tally: UserAttributeTally
    private let maximumFlights: Int
    private let now: @Sendable () -> Int64
    private let logger: Logger
    private var known: ExpiringTable<(answer: UserAttributeAnswer, subject: String)>
    private var flights: [String: Flight] = [:]
    /// The number that distinguishes a call from a later one for the same token.
    private var flightNumber = 0
    /// The number of running calls, including those whose results are discarded.
    private var running = 0
    /// Whether the last call has failed.
    private var hasFailed = false

    /// A call in progress.
    private struct Flight {
        var number: Int
        var subject: String
        /// Returns nil if the user's attributes have changed in the meantime: the result may be outdated.
        var task: Task<UserAttributeAnswer?, Never>
    }

    private static let refusalLifetime: Int64 = 5
    private static let failureLifetime: Int64 = 2
    /// The number of calls that a request waits for while the attributes change repeatedly: a caller who only claims to
    /// be the user can also report changes.
    private static let mostFlightsInTurn = 4

    /// - Parameters:
    ///   - client: with the timeout of the settings.
    ///   - tally: counts the calls, and the requests that get no call.
    ///   - maximumFlights: the maximum number of concurrent calls. Attributes of further tokens count as unavailable.
    ///   - capacity: the number of tokens whose results are remembered.
    ///   - now: seconds since 1970.
    package init(
        _ settings: Settings, client: CognitoClient, tally: UserAttributeTally, maximumFlights: Int = 64,
        capacity: Int = 10_000,
        now: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.settings = settings
        self.client = client
        self.tally = tally
        self.maximumFlights = maximumFlights
        self.now = now
        self.logger = logger
        known = ExpiringTable(capacity: capacity)
    }

    package func answer(_ question: UserAttributeQuestion) async -> UserAttributeAnswer {
        let key = Base64URL.encode(SHA256.hash(question.token.expose()))
        for _ in 0..<Self.mostFlightsInTurn {
            if let known = known.value(of: key, at: now()) { return known.answer }
            guard let flight = flights[key] ?? begin(question, key) else { break }
            // Event loops store the result, so an outdated one must not be returned.
            if let answer = await flight.task.value { return answer }
        }
        tally.count(.failed)
        return .unavailable
    }

    /// Starts a call. Unstructured on purpose: the end of the first request must not take the result from the others.
    ///
    /// - Returns: nil if too many calls are running.
    private func begin(_ question: UserAttributeQuestion, _ key: String) -> Flight? {
        guard running < maximumFlights else { return nil }
        flightNumber += 1
        running += 1
        let number = flightNumber
        let task = Task { await fly(question, key, number) }
        let flight = Flight(number: number, subject: question.subject, task: task)
        flights[key] = flight
        return flight
    }

    private func fly(_ question: UserAttributeQuestion, _ key: String, _ number: Int) async -> UserAttributeAnswer? {
        let answer = await ask(question)
        running -= 1
        tally.count(UserAttributeTally.Result(answer))
        guard flights[key]?.number == number else { return nil }
        flights[key] = nil
        remember(answer, key, question)
        return answer
    }

    /// Discards the results of a user whose attributes have changed.
    package func forget(_ subject: String) {
        known.removeAll { $0.subject.hasSameBytes(as: subject) }
        flights = flights.filter { !$0.value.subject.hasSameBytes(as: subject) }
    }

    private func remember(_ answer: UserAttributeAnswer, _ key: String, _ question: UserAttributeQuestion) {
        let now = now()
        let end =
            switch answer {
            case .found: question.expires
            case .tokenRefused: now + Self.refusalLifetime
            case .unavailable: now + Self.failureLifetime
            }
        known.set((answer, question.subject), of: key, endsAt: end, at: now)
    }

    private func ask(_ question: UserAttributeQuestion) async -> UserAttributeAnswer {
        do throws(CognitoError) {
            let output = try await client.call(.getUser, ["AccessToken": .string(question.token.exposeText())])
            reportRecovery()
            return .found(Self.values(output, of: settings.rule))
        } catch {
            guard !error.kind.endsToken else { return .tokenRefused }
            reportFailure(error)
            return .unavailable
        }
    }

    private static func values(_ output: JSONObject, of rule: UserAttributeRule) -> [String: String] {
        var values: [String: String] = [:]
        for entry in output["UserAttributes"]?.arrayValue ?? [] {
            guard let name = entry["Name"]?.stringValue, let value = entry["Value"]?.stringValue,
                name.isOne(of: rule.attributes)
            else { continue }
            values[name] = value
        }
        return values
    }

    /// Logs the first of consecutive failures.
    private func reportFailure(_ error: CognitoError) {
        guard !hasFailed else { return }
        hasFailed = true
        logger.warning(
            "user attributes cannot be read", metadata: ["issuer": "\(settings.rule.issuer)", "error": "\(error.type)"])
    }

    private func reportRecovery() {
        guard hasFailed else { return }
        hasFailed = false
        logger.notice("user attributes are read again", metadata: ["issuer": "\(settings.rule.issuer)"])
    }
}

extension UserAttributeTally.Result {
    fileprivate init(_ answer: UserAttributeAnswer) {
        self =
            switch answer {
            case .found: .read
            case .tokenRefused: .refused
            case .unavailable: .failed
            }
    }
}

extension CognitoErrorKind {
    /// Whether an access token that Cognito refuses with this error is no longer valid, or its user must sign in again.
    var endsToken: Bool {
        switch self {
        case .badCredentials, .tokenRevoked, .tokenExpired, .userNotFound, .userDisabled, .passwordResetRequired,
            .userNotConfirmed:
            true
        default: false
        }
    }
}
