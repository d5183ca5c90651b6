// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Everything but the two C wrappers is compiled with strict memory safety.
let safe: [SwiftSetting] = strict + [.strictMemorySafety()]

func nio(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-nio") }

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "gatehouse",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "gatehouse", targets: ["gatehouse"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // The C libraries, each seen by one wrapper only.
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "Curl", dependencies: ["CCurl", "Cryptography", "Locking", nio("NIOCore")], swiftSettings: strict),
        // The module is not called Crypto because swift-nio-extras brings swift-crypto's module of that name along.
        .target(
            name: "Cryptography", dependencies: ["COpenSSL", "Encoding"], path: "Sources/Crypto", swiftSettings: strict),

        // The one lock, for everyone.
        .target(name: "Locking", swiftSettings: safe),

        // Pure: values in, values out.
        .target(name: "Encoding", swiftSettings: safe),
        .target(name: "HTTP1", dependencies: [httpTypes, nio("NIOCore")], swiftSettings: safe),
        .target(name: "Pipeline", dependencies: ["Cryptography", "Encoding", httpTypes], swiftSettings: safe),
        .target(
            name: "Settings", dependencies: ["Encoding", "Pipeline", "Cryptography", yams],
            resources: [.embedInCode("Schema/key-descriptions.txt")], swiftSettings: safe),

        // I/O.
        .target(
            name: "Listener",
            dependencies: [
                "Encoding", "HTTP1", "Locking", "Pipeline", "Cryptography", httpTypes, nioHTTPTypes, nioHTTP2, nioHPACK,
                nioSSL,
                nio("NIOCore"), nio("NIOPosix"), nio("NIOTLS"),
            ],
            swiftSettings: safe),
        .target(
            name: "Upstream",
            dependencies: ["Curl", "Encoding", "HTTP1", "Pipeline", httpTypes, nio("NIOCore")],
            swiftSettings: safe),
        .target(
            name: "SignIn",
            dependencies: ["Encoding", "Locking", "Pipeline", "Store", "Upstream", "Cryptography", httpTypes, logging],
            swiftSettings: safe),
        .target(
            name: "Telemetry", dependencies: ["Encoding", "Locking", "Pipeline", "Cryptography", logging],
            swiftSettings: safe),
        .target(name: "Store", dependencies: ["Locking", grdb], swiftSettings: safe),
        .target(
            name: "LocalPool",
            dependencies: [
                "Cryptography", "Encoding", "Locking", "Pipeline", "Store", grdb, logging, yams,
                nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
            ],
            swiftSettings: safe),

        // Wiring and the command line.
        .target(
            name: "Gateway",
            dependencies: [
                "Curl", "Encoding", "HTTP1", "Listener", "Locking", "Pipeline", "SignIn", "Store", "Upstream",
                "Settings", "Telemetry",
                "Cryptography", httpTypes, logging, lifecycle, nio("NIOCore"), nio("NIOPosix"),
            ],
            // The dashboard is in the binary, which is one file.
            resources: [
                "page.html", "style.css", "samples.js", "words.js", "charts.js", "attention.js", "sections.js",
                "live.js",
            ].map { .embedInCode("Admin/Dashboard/\($0)") },
            swiftSettings: safe),
        .executableTarget(
            name: "gatehouse",
            dependencies: [
                "Encoding", "Gateway", "LocalPool", "Locking", "Settings", "SignIn", "Pipeline", "Store",
                "Cryptography",
                argumentParser, logging, lifecycle,
            ],
            swiftSettings: safe),

        // No test: what a token costs beside OpenSSL's bare verification.
        .executableTarget(
            name: "verify-benchmark", dependencies: ["COpenSSL", "Cryptography", "Encoding", "Pipeline", httpTypes],
            path: "Tests/Benchmark", swiftSettings: strict),

        // Numbers of chance that are the same in every run, for tests.
        .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: safe),

        // Steps of the time of day, for tests of time.
        .target(name: "ClockSteps", path: "Tests/ClockSteps", swiftSettings: safe),

        .testTarget(name: "EncodingTests", dependencies: ["Encoding", "SeededRandom"], swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests", dependencies: ["Cryptography", "Encoding"], path: "Tests/CryptoTests",
            swiftSettings: strict),
        .testTarget(name: "HTTP1Tests", dependencies: ["HTTP1", httpTypes, nio("NIOCore")], swiftSettings: strict),
        .testTarget(
            name: "PipelineTests",
            dependencies: ["ClockSteps", "Pipeline", "Cryptography", "Encoding", "SeededRandom", httpTypes],
            swiftSettings: strict),
        .testTarget(
            name: "SettingsTests", dependencies: ["Settings", "Encoding", "Pipeline", "Cryptography"],
            swiftSettings: strict),
        .testTarget(
            name: "ListenerTests",
            dependencies: [
                "Listener", "Encoding", "HTTP1", "Pipeline", httpTypes, nioHPACK, nioHTTP2, nio("NIOCore"),
                nio("NIOEmbedded"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "UpstreamTests",
            dependencies: [
                "Upstream", "Curl", "Encoding", "HTTP1", "Pipeline", httpTypes, nio("NIOCore"), nio("NIOPosix"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "ClockSteps", "Encoding", "Gateway", "Listener", "Pipeline", "SignIn", "Settings", "Store", "Telemetry",
                "Upstream", "Cryptography", grdb, httpTypes, logging, nio("NIOCore"), nio("NIOPosix"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SignInTests",
            dependencies: [
                "ClockSteps", "Encoding", "SignIn", "Pipeline", "Store", "Cryptography", "Upstream", httpTypes, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TelemetryTests", dependencies: ["Telemetry", "Encoding", "Pipeline", "Cryptography", logging],
            swiftSettings: strict),
        .testTarget(
            name: "LocalPoolTests",
            dependencies: [
                "LocalPool", "Cryptography", "Encoding", "Store", grdb, logging, nio("NIOCore"), nio("NIOPosix"),
                nio("NIOHTTP1"),
            ],
            swiftSettings: strict),
    ]
)
