import Dispatch
import Foundation
import Testing

@testable import Telemetry

@Suite("Log files")
struct LogOutputTests {
    let directory: String

    init() throws {
        directory = NSTemporaryDirectory() + "log-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
    }

    private func write(_ text: String, to output: LogOutput) -> Int { output.write(Array(text.utf8)) }

    @Test("A file is appended to", arguments: [(true, 0o600), (false, 0o640)])
    func appending(isPrivate: Bool, mode: Int) throws {
        let path = directory + "/a.log"
        for line in ["one\n", "two\n"] {
            #expect(write(line, to: try LogOutput(path: path, isPrivate: isPrivate)) == 0)
        }
        #expect(try text("a.log") == "one\ntwo\n")
        let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        // The mode as the umask leaves it.
        #expect(found.map { $0 & ~mode } == 0)
    }

    @Test("One that cannot be opened says why")
    func unopened() {
        let path = directory + "/none/a.log"
        #expect(throws: LogError(description: "\(path): cannot be opened: No such file or directory")) {
            try LogOutput(path: path)
        }
    }

    @Test("A file that was moved away is written anew once it is told so")
    func reopening() throws {
        let output = try LogOutput(path: directory + "/a.log")
        _ = write("one\n", to: output)
        try FileManager.default.moveItem(atPath: directory + "/a.log", toPath: directory + "/a.log.1")
        try output.reopen()
        _ = write("two\n", to: output)
        #expect(try text("a.log.1") == "one\n")
        #expect(try text("a.log") == "two\n")
    }

    @Test("A part of a line that a file ends with stays a line of its own", arguments: [false, true])
    func partOfLine(isReopened: Bool) throws {
        let path = directory + "/a.log"
        func leavePart() throws { try #"{"a":"#.write(toFile: path, atomically: false, encoding: .utf8) }
        if !isReopened { try leavePart() }
        let output = try LogOutput(path: path)
        if isReopened {
            try leavePart()
            try output.reopen()
        }
        for _ in 0..<2 { #expect(write("{}\n", to: output) == 0) }
        #expect(try text("a.log") == "{\"a\":\n{}\n{}\n")
    }

    @Test("A file that cannot be opened anew is written on")
    func staying() throws {
        let output = try LogOutput(path: directory + "/a.log")
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-moved")
        #expect(throws: LogError.self) { try output.reopen() }
        #expect(write("one\n", to: output) == 0)
        #expect(try String(contentsOfFile: directory + "-moved/a.log", encoding: .utf8) == "one\n")
    }

    @Test("Lines for a file that was deleted and cannot be made anew are lost, and counted")
    func deleted() throws {
        let output = try LogOutput(path: directory + "/a.log")
        try FileManager.default.removeItem(atPath: directory)
        // The path is looked at within a second.
        while write("one\ntwo\n", to: output) == 0 {}
        #expect(write("one\ntwo\n", to: output) == 2)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        while write("three\n", to: output) != 0 {}
        #expect(try text("a.log") == "three\n")
    }

    @Test("A pipe that nobody reads from is refused, and is not waited for")
    func unreadPipe() throws {
        let path = directory + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let error = #expect(throws: LogError.self) { try LogOutput(path: path) }
        #expect(error?.description == "\(path): cannot be opened: nobody reads from it")
    }

    @Test("A reload does not wait for a write to a pipe whose reader stalls")
    func stalledPipe() throws {
        let path = directory + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let reader = try #require(FileHandle(forUpdatingAtPath: path))
        let outputs = LogOutputs()
        let output = try outputs.output(for: .file(path))
        // More than a pipe has room for.
        let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 1 << 20)
        let written = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            _ = output.write(lines)
            written.signal()
        }
        // With its first byte here, the write has begun.
        var left = lines.count - 1
        #expect(try reader.read(upToCount: 1)?.count == 1)
        let returns = endsInTime {
            _ = output.isTerminal
            _ = outputs.reopen()
        }
        #expect(returns)
        while left > 0 {
            let piece = try #require(try reader.read(upToCount: left))
            left -= piece.count
        }
        written.wait()
    }

    @Test("Of a full disk every line is counted")
    func full() throws {
        let output = try LogOutput(path: "/dev/full")
        #expect(write("one\ntwo\n", to: output) == 2)
        #expect(write("three\n", to: output) == 1)
    }

    @Test("Logs to one file share it, and it is opened anew for all of them")
    func sharing() throws {
        let outputs = LogOutputs()
        let path = directory + "/a.log"
        let first = try outputs.output(for: .file(path))
        #expect(try outputs.output(for: .file(path)) === first)
        #expect(outputs.reopen().isEmpty)
        try FileManager.default.removeItem(atPath: directory)
        #expect(outputs.reopen().count == 1)
    }
}
