// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Everything but the wrappers of C libraries and of the kernel's sockets is compiled with strict memory safety.
let safe: [SwiftSetting] = strict + [.strictMemorySafety()]

/// Whether an app fetches the package for its client. SwiftPM and Xcode read the manifest of such a package from its
/// repository, where there is no directory, and then from a directory of this name.
let isFetched = Context.packageDirectory == "/" || Context.packageDirectory.contains("/checkouts/")

/// A package in exactly this version, so that two builds of the gateway are the same. deploy/release/dependencies.txt has
/// those that they bring along. An app builds none of them, but its own packages may want other versions.
func pinned(_ url: String, _ version: Version) -> Package.Dependency {
    isFetched ? .package(url: url, from: version) : .package(url: url, exact: version)
}

func nio(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-nio") }

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let serviceContext = Target.Dependency.product(name: "ServiceContextModule", package: "swift-service-context")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "gatehouse",
    // The gateway runs on Linux; these are for the client.
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .visionOS(.v1), .watchOS(.v8)],
    products: [
        .executable(name: "gatehouse", targets: ["gatehouse"]),
        .library(name: "GatehouseClient", targets: ["GatehouseClient"]),
        .library(name: "ExampleApp", targets: ["ExampleApp"]),
        .executable(name: "client-sample", targets: ["ClientSample"]),
        .library(name: "GatehouseClientTesting", targets: ["GatehouseClientTesting"]),
    ],
    dependencies: [
        pinned("https://github.com/apple/swift-nio", "2.101.2"),
        pinned("https://github.com/apple/swift-nio-ssl", "2.37.6"),
        pinned("https://github.com/apple/swift-http-types", "1.8.0"),
        pinned("https://github.com/apple/swift-log", "1.16.2"),
        pinned("https://github.com/apple/swift-argument-parser", "1.8.2"),
        pinned("https://github.com/apple/swift-distributed-tracing", "1.7.3"),
        pinned("https://github.com/apple/swift-service-context", "1.5.1"),
        pinned("https://github.com/groue/GRDB.swift", "7.10.0"),
        pinned("https://github.com/jpsim/Yams", "6.2.2"),
    ],
    targets: [
        // The app's half, for Apple's systems and Linux. Apps build it alone: it depends on nothing of the gateway's.
        .target(name: "GatehouseClient", swiftSettings: safe),
        .executableTarget(
            name: "ClientSample", dependencies: ["GatehouseClient"], path: "deploy/example-app/command-line",
            swiftSettings: safe),
        // An app of two screens, to copy. Its views need SwiftUI, its models do not.
        .target(
            name: "ExampleApp", dependencies: ["GatehouseClient"], path: "deploy/example-app/app", swiftSettings: safe),
        .testTarget(
            name: "ExampleAppTests", dependencies: ["ExampleApp", "GatehouseClient", "GatehouseClientTesting"],
            swiftSettings: safe),
        // A gateway in the app's own process, for its tests and previews.
        .target(name: "GatehouseClientTesting", dependencies: ["GatehouseClient"], swiftSettings: safe),
        .testTarget(
            name: "GatehouseClientTests", dependencies: ["GatehouseClient", "GatehouseClientTesting"],
            swiftSettings: safe),

        // The C libraries, each seen by one wrapper only.
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        // BoringSSL's headers; the library itself is a part of swift-nio-ssl.
        .target(name: "CBoringSSL", dependencies: [nioSSL]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // Not linked: Postgres loads libpq where it is used. So there is no pkgConfig, which would link it.
        .systemLibrary(name: "CPostgres", providers: [.apt(["libpq-dev"])]),
        // The event loops, and the sockets of clients.
        .target(name: "Sockets", dependencies: ["CEpoll", "Locking", nio("NIOCore")], swiftSettings: strict),
        .target(
            name: "Curl", dependencies: ["CCurl", "Cryptography", "Encoding", "Locking", "Sockets", nio("NIOCore")],
            swiftSettings: strict),
        .target(
            name: "Postgres", dependencies: ["CPostgres", "Cryptography", "Encoding", "Locking"], swiftSettings: strict),
        .target(name: "HTTP2", dependencies: ["CNghttp2", nio("NIOCore")], swiftSettings: strict),
        .target(name: "TLS", dependencies: ["CBoringSSL", "Sockets", nio("NIOCore")], swiftSettings: strict),
        .target(name: "Zlib", dependencies: ["CZlib", nio("NIOCore")], swiftSettings: strict),
        .target(name: "Allocator", dependencies: ["CMalloc"], swiftSettings: strict),
        // The module is not called Crypto because swift-crypto has a module of that name.
        .target(
            name: "Cryptography", dependencies: ["COpenSSL", "Encoding"], path: "Sources/Crypto", swiftSettings: strict),

        // The one lock and the clocks, for everyone.
        .target(name: "Locking", swiftSettings: safe),
        .target(name: "Clocks", swiftSettings: safe),

        // Pure: values in, values out.
        .target(name: "Encoding", swiftSettings: safe),
        .target(name: "HTTP1", dependencies: [httpTypes, nio("NIOCore")], swiftSettings: safe),
        .target(
            name: "Pipeline", dependencies: ["Cryptography", "Encoding", "HTTP1", httpTypes, nio("NIOCore")],
            swiftSettings: safe),
        // Reads YAML into values, and reports everything that is wrong with a file, each error with its place. It knows
        // no key of any file: Settings and LocalPool do. Those that report errors and changes of settings import it as
        // well.
        .target(
            name: "SettingsReader", dependencies: ["Cryptography", "Encoding", yams], swiftSettings: safe),
        .target(
            name: "Settings",
            dependencies: [
                "Cryptography", "Encoding", "Pipeline", "Postgres", "SettingsReader", httpTypes, nio("NIOCore"),
            ],
            resources: [.embedInCode("Schema/key-descriptions.txt")], swiftSettings: safe),

        // I/O.
        // Connections of clients: TLS, HTTP/1.1 and HTTP/2, the PROXY protocol, deadlines, fair shares.
        .target(
            name: "Listener",
            dependencies: [
                "Clocks", "Encoding", "HTTP1", "HTTP2", "Locking", "Pipeline", "Cryptography", "Sockets", "TLS",
                httpTypes, nioSSL, nio("NIOCore"), nio("NIOTLS"),
            ],
            swiftSettings: safe),
        // The gateway's own requests, to Cognito, Apple, key sets, webhooks and the collector of spans.
        .target(
            name: "HTTPClient",
            dependencies: [
                "Clocks", "Curl", "Encoding", "Locking", "Telemetry", logging, nio("NIOCore"),
            ],
            swiftSettings: safe),
        // Backends: pools of connections, balancing, retries, health checks, tunnels.
        .target(
            name: "Upstream",
            dependencies: [
                "Curl", "Encoding", "HTTP1", "HTTPClient", "Locking", "Pipeline", "Sockets", httpTypes, logging,
                nio("NIOCore"),
            ],
            swiftSettings: safe),
        // Logs, metrics, spans with the tracer of other libraries' spans, and the line that a crash leaves.
        .target(
            name: "Telemetry",
            dependencies: [
                "Clocks", "Cryptography", "Encoding", "Locking", "Pipeline", "Settings", "SettingsReader", logging,
                serviceContext, tracing,
            ],
            swiftSettings: safe),
        // The database and the state directory.
        .target(
            name: "Store",
            dependencies: [
                "Clocks", "Encoding", "Locking", "Pipeline", "Telemetry", grdb, logging,
            ],
            swiftSettings: safe),

        // The same records in PostgreSQL, which several gateways share.
        .target(
            name: "PostgresStore", dependencies: ["Clocks", "Encoding", "Locking", "Postgres", "Store"],
            swiftSettings: safe),

        // Keys and accounts.
        // Text that clients or the store keep encrypted with the gateway's keys.
        .target(name: "Sealing", dependencies: ["Cryptography", "Encoding", "Locking"], swiftSettings: safe),
        // Key sets of issuers, the gateway's own keys and their rotation, and revocations.
        .target(
            name: "Keys",
            dependencies: [
                "Clocks", "Cryptography", "Encoding", "HTTPClient", "Locking", "Pipeline", "Sealing", "Settings",
                "Store", logging,
            ],
            swiftSettings: safe),
        // Certificates of an ACME directory: the protocol, the state that is kept of it, orders and renewals.
        .target(
            name: "ACME",
            dependencies: [
                "Cryptography", "Encoding", "HTTPClient", "Locking", "Pipeline", "Sealing", "Store", logging,
            ],
            swiftSettings: safe),
        // The client of Cognito: SRP, signed requests, credentials, errors; the calls that apps make of it, translated.
        .target(
            name: "Cognito",
            dependencies: [
                "Cryptography", "Encoding", "HTTPClient", "Pipeline",
            ],
            swiftSettings: safe),
        // The account endpoints, and the one way of account calls: limits, audit, user sync and the outbox.
        .target(
            name: "Accounts",
            dependencies: [
                "Clocks", "Cognito", "Cryptography", "Encoding", "HTTPClient", "Keys", "Locking", "Pipeline", "Sealing",
                "Settings", "Store", "Telemetry", httpTypes, logging,
            ],
            swiftSettings: safe),
        // Sign in with Apple, and the gateway's own sessions.
        .target(
            name: "Sessions",
            dependencies: [
                "Accounts", "Clocks", "Cryptography", "Encoding", "HTTPClient", "Keys", "Locking", "Pipeline",
                "Sealing", "Settings", "Store", httpTypes, logging,
            ],
            swiftSettings: safe),

        // Requests, and what is told of them.
        // One request from its head to the end of its response.
        .target(
            name: "Proxy",
            dependencies: [
                "Accounts", "Clocks", "Cryptography", "Curl", "Encoding", "HTTP1", "HTTPClient", "Keys", "Listener",
                "Locking", "Pipeline", "Sessions", "Settings", "Telemetry", "Upstream", "Zlib", httpTypes, logging,
                serviceContext, nio("NIOCore"),
            ],
            swiftSettings: safe),
        // The configuration that is running, and the admin listener: status, metrics, operators' calls, dashboard.
        .target(
            name: "Admin",
            dependencies: [
                "ACME", "Accounts", "Clocks", "Cryptography", "Curl", "Encoding", "HTTP1", "Keys", "Listener",
                "Locking", "Pipeline", "Proxy", "Sessions", "Settings", "SettingsReader", "Store", "Telemetry",
                "Upstream", httpTypes, logging, nio("NIOCore"),
            ],
            // The dashboard is in the binary, which is one file.
            resources: [
                "page.html", "style.css", "samples.js", "words.js", "charts.js", "changes.js", "attention.js",
                "sections.js", "targets.js", "runbook.js", "live.js", "runbook.md", "runbook-postgres.md",
                "runbook-secrets.md",
            ].map { .embedInCode("Dashboard/\($0)") },
            swiftSettings: safe),

        // Wiring and the command line.
        // From settings to a running gateway, reloads, and the end. Nothing else.
        .target(
            name: "Gateway",
            dependencies: [
                "ACME", "Accounts", "Admin", "Clocks", "Cognito", "Cryptography", "Curl", "Encoding", "HTTP1",
                "HTTPClient",
                "Keys", "Listener", "Pipeline", "Postgres", "PostgresStore", "Proxy", "Sealing", "Sessions", "Settings",
                "SettingsReader", "Sockets", "Store",
                "Telemetry", "Upstream", httpTypes, logging, nio("NIOCore"),
            ],
            swiftSettings: safe),
        // `check --online`, verification without a gateway, and the question for its health.
        .target(
            name: "Diagnostics",
            dependencies: [
                "Clocks", "Cognito", "Cryptography", "Curl", "Encoding", "Gateway", "HTTPClient", "Keys", "Pipeline",
                "Postgres", "PostgresStore",
                "Sessions", "Settings", "Sockets", "Store", "Upstream", httpTypes, logging, nio("NIOCore"),
            ],
            swiftSettings: safe),
        // A local Cognito and Apple, for development and tests.
        .target(
            name: "LocalPool",
            dependencies: [
                "Cryptography", "Encoding", "Locking", "SettingsReader", "Store", grdb, logging,
                nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
            ],
            swiftSettings: safe),
        // What still bypasses the gateway in an app's tree or archive.
        .target(name: "AppAudit", dependencies: ["Encoding", "Zlib"], swiftSettings: safe),
        // The commands.
        .executableTarget(
            name: "gatehouse",
            dependencies: [
                "Admin", "Allocator", "AppAudit", "Cryptography", "Diagnostics", "Encoding", "Gateway", "Keys",
                "LocalPool", "Locking", "Pipeline", "Sessions", "Settings", "SettingsReader", "Store", "Telemetry",
                argumentParser, logging, tracing,
            ],
            swiftSettings: safe),

        // No test: what a token costs beside OpenSSL's bare verification.
        .executableTarget(
            name: "verify-benchmark", dependencies: ["COpenSSL", "Cryptography", "Encoding", "Pipeline", httpTypes],
            path: "Tests/Benchmark", swiftSettings: strict),

        // No test: what a request through the client costs beside URLSession.
        .executableTarget(
            name: "client-benchmark", dependencies: ["GatehouseClient"], path: "Tests/ClientBenchmark",
            swiftSettings: strict),

        // No test: the least that a request costs on SwiftNIO, for deploy/loadtest/floor.sh.
        .executableTarget(
            name: "floor-benchmark", dependencies: [nio("NIOCore"), nio("NIOPosix")], path: "Tests/FloorBenchmark",
            swiftSettings: strict),

        // Numbers of chance that are the same in every run, for tests.
        .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: safe),

        // Steps of the time of day, for tests of time.
        .target(name: "ClockSteps", path: "Tests/ClockSteps", swiftSettings: safe),

        // Fetchers, clocks and logs in the hands of tests, and the pool and user that they share.
        .target(
            name: "TestSupport",
            dependencies: [
                "Accounts", "ClockSteps", "Cognito", "Cryptography", "Encoding", "HTTPClient", "Pipeline", "Sealing",
                "Store", httpTypes, logging,
            ],
            path: "Tests/TestSupport", swiftSettings: strict),

        .testTarget(
            name: "ACMETests",
            dependencies: ["ACME", "Cryptography", "Encoding", "HTTPClient", "Pipeline", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "AppAuditTests", dependencies: ["AppAudit", "Encoding", "Zlib"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(name: "EncodingTests", dependencies: ["Encoding", "SeededRandom"], swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests", dependencies: ["COpenSSL", "Cryptography", "Encoding"],
            path: "Tests/CryptoTests", swiftSettings: strict),
        .testTarget(name: "HTTP2Tests", dependencies: ["HTTP2", nio("NIOCore")], swiftSettings: strict),
        .testTarget(name: "HTTP1Tests", dependencies: ["HTTP1", httpTypes, nio("NIOCore")], swiftSettings: strict),
        .testTarget(
            name: "PipelineTests",
            dependencies: ["ClockSteps", "Pipeline", "Cryptography", "Encoding", "SeededRandom", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "SettingsTests",
            dependencies: [
                "Cryptography", "Encoding", "Pipeline", "Postgres", "Settings", "SettingsReader", nio("NIOCore"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ListenerTests",
            dependencies: [
                "Clocks", "Cryptography", "Listener", "Encoding", "HTTP1", "HTTP2", "Pipeline", "SeededRandom",
                "Sockets", "TLS", "TestSupport", httpTypes, nioSSL, nio("NIOCore"), nio("NIOEmbedded"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AccountsTests",
            dependencies: [
                "Accounts", "ClockSteps", "Cognito", "Cryptography", "Encoding", "HTTPClient", "Keys", "Locking",
                "Pipeline", "Sealing", "Sessions", "Settings", "Store", "Telemetry", "TestSupport", httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AdminTests",
            dependencies: ["Accounts", "Admin", "Pipeline", "Settings", "Store", "Telemetry", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "CognitoTests",
            dependencies: [
                "Accounts", "ClockSteps", "Cognito", "Cryptography", "Encoding", "HTTPClient", "Pipeline",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CurlTests",
            dependencies: ["Curl", "Sockets", nio("NIOCore")],
            swiftSettings: strict),
        .testTarget(
            name: "SocketsTests",
            dependencies: ["SeededRandom", "Sockets", nio("NIOCore")],
            swiftSettings: strict),
        .testTarget(
            name: "DiagnosticsTests",
            dependencies: [
                "Cryptography", "Diagnostics", "Encoding", "HTTPClient", "Keys", "Pipeline", "Settings",
                "SettingsReader", "Store", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "ACME", "Accounts", "Admin", "Clocks", "Cryptography", "Diagnostics", "Encoding", "Gateway", "Keys",
                "Listener", "Locking", "Pipeline", "Proxy", "Sealing", "Sessions", "Settings", "SettingsReader",
                "Sockets", "Store", "Telemetry", "TestSupport", "Upstream", httpTypes, logging, nio("NIOCore"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "KeysTests",
            dependencies: [
                "ClockSteps", "Cryptography", "Encoding", "Gateway", "HTTPClient", "Keys", "Locking", "Pipeline",
                "Sealing", "Store", "TestSupport", logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ProxyTests",
            dependencies: [
                "Accounts", "Cryptography", "HTTPClient", "Listener", "Pipeline", "Proxy", "Sealing", "Settings",
                "SeededRandom", "Store", "Telemetry", "TestSupport", "Zlib", httpTypes, logging, serviceContext,
                tracing,
                nio("NIOCore"), nio("NIOPosix"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SessionsTests",
            dependencies: [
                "Accounts", "Clocks", "ClockSteps", "Cryptography", "Encoding", "HTTPClient", "Keys", "Pipeline",
                "Sealing", "Sessions", "Store", "Telemetry", "TestSupport", grdb, httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "StoreTests",
            dependencies: ["ClockSteps", "Cryptography", "Encoding", "Keys", "Store", "TestSupport", grdb, logging],
            swiftSettings: strict),
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "Accounts", "Cryptography", "Encoding", "HTTPClient", "Keys", "Locking", "Pipeline", "Postgres",
                "PostgresStore", "Sealing", "Store", "Telemetry", "TestSupport", grdb, httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "UpstreamTests",
            dependencies: [
                "Curl", "Encoding", "HTTP1", "HTTPClient", "Pipeline", "Sockets", "Upstream", httpTypes,
                nio("NIOCore"), nio("NIOPosix"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "Cryptography", "Encoding", "Pipeline", "Telemetry", logging, serviceContext, tracing,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "LocalPoolTests",
            dependencies: [
                "LocalPool", "Cryptography", "Encoding", "SeededRandom", "SettingsReader", "Store", grdb, logging,
                nio("NIOCore"),
                nio("NIOPosix"), nio("NIOHTTP1"),
            ],
            swiftSettings: strict),
    ]
)
