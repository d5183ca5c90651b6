import Foundation
import SettingsReader
import Testing

@testable import Settings

@Suite("Files are read whole, or it is told why not")
struct WholeFileTests {
    private let directory = NSTemporaryDirectory() + "gatehouse-files-" + UUID().uuidString

    private func failure(_ name: String) -> String? {
        do {
            _ = try readWholeFile(directory + "/" + name)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("What is no regular file says what it is, and nothing waits for a pipe")
    func kinds() throws {
        let files = FileManager.default
        try files.createDirectory(atPath: directory + "/directory", withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: directory) }
        #expect(mkfifo(directory + "/pipe", 0o600) == 0)
        try files.createSymbolicLink(atPath: directory + "/loop", withDestinationPath: "loop")
        try Data(repeating: 1, count: 1 << 20).write(to: URL(filePath: directory + "/large"))
        try Data(repeating: 1, count: (1 << 20) + 1).write(to: URL(filePath: directory + "/larger"))
        #expect(failure("nothing") == "there is no such file")
        #expect(failure("directory") == "it is a directory")
        #expect(failure("pipe") == "it is not a regular file")
        #expect(failure("loop") == "Too many levels of symbolic links")
        #expect(failure("larger") == "it is larger than 1 MiB")
        #expect(try readWholeFile(directory + "/large").count == 1 << 20)
        // Such files say that they are empty.
        #expect(try !readWholeFile("/proc/self/status").isEmpty)
    }
}
