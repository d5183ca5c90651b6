internal import FoundationEssentials

/// Why a file can't be read.
package enum FileReadFailure: Error, Sendable, Equatable, CustomStringConvertible {
    case notFound
    case notPermitted
    case tooLarge
    case directory
    case other

    package var description: String {
        switch self {
        case .notFound: "there is no such file"
        case .notPermitted: "permission denied"
        case .tooLarge: "it is larger than 1 MiB"
        case .directory: "it is a directory"
        case .other: "the system gives no reason"
        }
    }
}

/// The bytes of the file at `path`, at most 1 MiB of them.
package func readWholeFile(_ path: String) throws(FileReadFailure) -> [UInt8] {
    let contents: Data
    do {
        contents = try Data(contentsOf: URL(filePath: path))
    } catch let error as CocoaError {
        switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: throw .notFound
        case .fileReadNoPermission: throw .notPermitted
        default: throw isDirectory(path) ? .directory : .other
        }
    } catch {
        throw isDirectory(path) ? .directory : .other
    }
    guard contents.count <= 1 << 20 else { throw .tooLarge }
    return [UInt8](contents)
}

private func isDirectory(_ path: String) -> Bool {
    var isDirectory = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory
}
