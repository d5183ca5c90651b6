package import Foundation
import Glibc
import Synchronization

/// A program that a test runs.
///
/// It is started with posix_spawn(3). Swift 6.3.1's `Process.run()` copies each entry of /proc/self/fd with 256 bytes,
/// whatever its length, and may read beyond mapped memory (swift-corelibs-foundation, pull request 5472).
package struct ChildProcess: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package let id: pid_t
    /// Its standard input; at the end of it when this is closed.
    package let input: FileHandle
    /// Its standard output, and its errors if they were asked for.
    package let output: FileHandle

    /// One at a time, so that no child has another's pipes, whose ends would then not be seen.
    private static let spawning = Mutex(())

    /// - Parameters:
    ///   - command: the path of the program, and its arguments.
    ///   - keepsErrors: whether its standard error is its standard output too; otherwise it is discarded.
    package init(_ command: [String], keepsErrors: Bool = false) throws {
        self = try Self.spawning.withLock { _ in try Self(spawning: command, keepsErrors: keepsErrors) }
    }

    private init(spawning command: [String], keepsErrors: Bool) throws {
        let (theirInput, ourInput) = try Self.pipe()
        let (ourOutput, theirOutput) = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, theirInput.fileDescriptor, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, theirOutput.fileDescriptor, STDOUT_FILENO)
        if keepsErrors {
            posix_spawn_file_actions_adddup2(&actions, theirOutput.fileDescriptor, STDERR_FILENO)
        } else {
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var id = pid_t()
        let code = posix_spawn(&id, command[0], &actions, nil, &arguments, environ)
        guard code == 0 else { throw Failure(description: "\(command): \(String(cString: strerror(code)))") }
        try theirInput.close()
        try theirOutput.close()
        (self.id, input, output) = (id, ourInput, ourOutput)
    }

    private static func pipe() throws -> (reading: FileHandle, writing: FileHandle) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
            throw Failure(description: "no pipe: \(String(cString: strerror(errno)))")
        }
        return (
            FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
            FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        )
    }

    /// Waits for its end.
    ///
    /// - Returns: its exit status; -1 if a signal ended it.
    package func wait() -> Int32 {
        var status: CInt = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
    }

    /// Runs a program to its end. Parameters as in ``init(_:keepsErrors:)``.
    ///
    /// - Parameter input: less than a pipe holds, 64 KiB.
    package static func run(
        _ command: [String], input: [UInt8] = [], keepsErrors: Bool = false
    ) throws -> (status: Int32, output: String) {
        let process = try ChildProcess(command, keepsErrors: keepsErrors)
        if !input.isEmpty { try process.input.write(contentsOf: Data(input)) }
        try process.input.close()
        let output = try process.output.readToEnd() ?? Data()
        return (process.wait(), String(decoding: output, as: UTF8.self))
    }
}
