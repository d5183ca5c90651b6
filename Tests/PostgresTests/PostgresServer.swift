import Cryptography
import Foundation
import Glibc
import Synchronization
import TestSupport

@testable import Postgres

/// A PostgreSQL server of the tests' own, in a temporary directory, on a free port of loopback. It ends with the
/// process of the tests, however that ends.
final class PostgresServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let password = "correct horse"
    private static let user = "gatehouse"

    /// Where `initdb` is: unpacked by deploy/test.sh, or installed.
    static let binaries: String? = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        for prefix in [root.standardizedFileURL.path + "/.build/tools", ""] {
            let directory = prefix + "/usr/lib/postgresql"
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            for version in versions.sorted(by: >) {
                let bin = "\(directory)/\(version)/bin"
                if FileManager.default.isExecutableFile(atPath: bin + "/initdb") { return bin }
            }
        }
        return nil
    }()

    static var isInstalled: Bool { binaries != nil }

    /// The server of all tests that leave it as it is.
    static let shared = Result { try PostgresServer() }

    let port: Int
    let directory: String
    /// One for each start; the server ends when they are closed.
    private let processes = Mutex<[FileHandle]>([])

    /// - Parameter settings: of postgresql.conf.
    init(_ settings: [String: String] = [:]) throws {
        let template = try Self.template.get().directory
        directory = template + "-" + Self.name()
        try Self.run(Self.unprivileged + ["/bin/cp", "-a", template, directory])
        port = try Self.freePort()
        try start(settings)
    }

    /// Starts the server, and returns when it takes connections.
    func start(_ settings: [String: String] = [:]) throws {
        let bin = try Self.bin()
        var arguments = Self.unprivileged + ["\(bin)/postgres", "-D", directory, "-p", String(port)]
        // Durable as it is by default: what tests see of its time is real.
        let common = [
            "listen_addresses": "127.0.0.1", "unix_socket_directories": directory, "fsync": "on",
            "logging_collector": "off", "jit": "off", "max_connections": "800",
        ]
        for (name, value) in common.merging(settings, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key }) {
            arguments += ["-c", "\(name)=\(value)"]
        }
        let started = try Self.launch(arguments, in: directory, until: "ready to accept connections")
        processes.withLock { $0.append(started) }
    }

    /// Kills the server as a crash does, and returns when it is gone. Its files stay.
    func kill() throws {
        let text = try String(contentsOfFile: directory + "/postmaster.pid", encoding: .utf8)
        guard let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw Failure(description: "postmaster.pid has no number")
        }
        let children = try String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
        guard Glibc.kill(pid, SIGKILL) == 0 else { throw Failure(description: "kill failed") }
        while Glibc.kill(pid, 0) == 0 { sched_yield() }
        // Its children end when they notice; until then no other server begins with their memory.
        for child in children.split(separator: " ").compactMap({ pid_t($0) }) {
            while Glibc.kill(child, 0) == 0, !Self.isZombie(child) { sched_yield() }
        }
    }

    /// With time limits that a busy machine keeps. Tests of a limit set it.
    func settings(
        user: String = PostgresServer.user, password: String? = PostgresServer.password, database: String = "postgres"
    ) -> PostgresSettings {
        var settings = PostgresSettings(
            hosts: [PostgresSettings.Host("127.0.0.1", port: port)], database: database, user: user,
            password: password.map { Secret($0) })
        settings.timeLimits.statement = .seconds(60)
        settings.timeLimits.lock = .seconds(60)
        settings.timeLimits.response = .seconds(60)
        settings.timeLimits.whileAway = .seconds(60)
        return settings
    }

    // MARK: Commands

    /// A short name: the path of a unix socket has 107 bytes at most.
    private static func name() -> String { String(UInt32.random(in: .min ... .max), radix: 36) }

    /// A directory of an empty database, and what keeps it.
    private static let template = Result { () -> (directory: String, remover: FileHandle) in
        let bin = try PostgresServer.bin()
        let directory = NSTemporaryDirectory() + "gatehouse-" + name()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let passwordFile = directory + "/password"
        try (password + "\n").write(toFile: passwordFile, atomically: true, encoding: .utf8)
        let data = directory + "/data"
        if getuid() == 0 {
            try run(["/bin/chown", "-R", "nobody:nogroup", directory])
        }
        try run(
            unprivileged + [
                "\(bin)/initdb", "-D", data, "-U", user, "-E", "UTF8", "--locale=C.UTF-8", "--auth-host=scram-sha-256",
                "--auth-local=trust", "--pwfile=\(passwordFile)", "--no-sync",
            ])
        try FileManager.default.removeItem(atPath: passwordFile)
        // Each server removes its own directory beside this one; the last one removes what they are in.
        let script = #"exec >/dev/null 2>&1; read -r line; rm -rf "$1"; rmdir "${1%/*}""#
        return (data, remover: try ChildProcess(["/bin/bash", "-c", script, "bash", data]).input)
    }

    /// initdb and the server refuse to run as root.
    static var unprivileged: [String] {
        getuid() == 0
            ? ["/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"] : ["/usr/bin/env"]
    }

    private static func bin() throws -> String {
        guard let binaries else { throw Failure(description: "initdb is not installed") }
        return binaries
    }

    static func run(_ command: [String]) throws {
        let (status, text) = try ChildProcess.run(command, keepsErrors: true)
        guard status == 0 else { throw Failure(description: "\(command): \(text)") }
    }

    /// Starts a server that ends with the pipe that is returned, and takes its directory along. Returns when the server
    /// has written `text`.
    ///
    /// - Parameter signal: ends the server.
    static func launch(
        _ command: [String], in directory: String, until text: String, signal: String = "QUIT"
    ) throws -> FileHandle {
        // Bash, since signals are blocked in children of Dispatch's threads and dash then waits for ever. It reaps
        // the server, which ends with bash's input, and that with the tests' process.
        let script = #"""
            directory=$1; signal=$2; shift 2; exec 3<&0
            "$@" & server=$!
            exec >/dev/null 2>&1
            (read -r line <&3; kill -$signal $server) &
            wait $server; wait; rm -rf "$directory"; rmdir "${directory%/*}"
            """#
        let process = try ChildProcess(
            ["/bin/bash", "-c", script, "bash", directory, signal] + command, keepsErrors: true)
        var log = ""
        while !log.contains(text) {
            let data = process.output.availableData
            guard !data.isEmpty else { throw Failure(description: log) }
            log += String(decoding: data, as: UTF8.self)
        }
        process.output.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
        return process.input
    }

    /// A port of loopback that nobody listens on.
    static func freePort() throws -> Int {
        try ListeningSocket().port
    }

    private static func isZombie(_ pid: pid_t) -> Bool {
        let stat = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        return stat.split(separator: ")").last?.split(separator: " ").first == "Z"
    }
}

/// A socket of loopback that takes connections and says nothing.
final class ListeningSocket: Sendable {
    let port: Int
    private let descriptor: CInt

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw PostgresServer.Failure(description: "no port") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
