import ArgumentParser
import FoundationEssentials
import LocalPool
import Logging
import SettingsReader

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// `gatehouse local-pool`: a local Cognito for development and tests.
struct LocalPoolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "local-pool",
        abstract: "Run a local Amazon Cognito user pool and a local Apple, for development and tests.",
        discussion: """
            SIGTERM or SIGINT stops the pool. Config/local-pool.yaml shows every key of the configuration. With \
            the section 'apple', Sign in with Apple is at the same address. Exit status 78 means that the \
            configuration has errors.

            Examples:
              gatehouse local-pool --config Config/local-pool.yaml
              curl http://127.0.0.1:9229/auth/keys
              curl http://127.0.0.1:9229/_local/apple/sign-in \\
                -H 'Content-Type: application/json' \\
                -d '{"user": "ada@icloud.example", "client_id": "com.example.app"}'
            """)

    @Option(
        help: ArgumentHelp("The YAML file that describes the pool.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String

    func run() async throws {
        let logger = Logger(label: "local-pool") { StreamLogHandler.standardError(label: $0) }
        let pool = try reportingErrors { try service(logger) }
        let ends = await ProcessSignals(SIGTERM, SIGINT)
        do {
            // There is no work to drain.
            let wasTold = try await withThrowingTaskGroup(of: Bool.self) { tasks in
                tasks.addTask {
                    try await pool.run()
                    return false
                }
                tasks.addTask {
                    for await _ in ends.all { break }
                    return true
                }
                defer { tasks.cancelAll() }
                return try await tasks.next() ?? false
            }
            guard wasTold else { throw CommandFailure("the listener has closed", status: .cannotRun) }
        } catch let error as LocalPoolAddressError {
            throw CommandFailure("\(error)", status: .cannotRun)
        }
    }

    private func service(_ logger: Logger) throws -> LocalPoolService {
        let settings = try LocalPoolConfiguration.load(
            path: config, environment: ProcessInfo.processInfo.environment)
        return try LocalPoolService(configuration: settings, logger: logger) { port in
            StandardOutput.line("local pool \(settings.poolID) listening on http://\(settings.host):\(port)")
            // Scripts wait for this line, which would stay in the buffer if the output is a pipe.
            StandardOutput.flush()
        }
    }

    /// - Throws: ``CommandFailure`` with status 78 (EX_CONFIG of sysexits) and all errors.
    private func reportingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let errors as SettingsErrors {
            throw CommandFailure(errors, in: config)
        } catch let error as SeedError {
            throw CommandFailure("\(error)", status: .invalidConfiguration)
        }
    }
}
