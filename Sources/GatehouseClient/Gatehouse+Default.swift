public import Foundation

extension Gatehouse {
    /// A client with the system's own store: the Keychain, or on Linux a file in the user's data directory.
    ///
    /// - Parameter url: the gateway's.
    public init(url: URL) {
        #if canImport(Security)
            let store = KeychainStore(service: Bundle.main.bundleIdentifier ?? "gatehouse-client")
        #else
            let store = FileStore(.defaultSessionFile)
        #endif
        self.init(Configuration(url: url), store: store)
    }
}

#if !canImport(Security)
    extension URL {
        /// One for each program, in `$XDG_DATA_HOME` or `~/.local/share` (XDG Base Directory Specification).
        fileprivate static var defaultSessionFile: URL {
            let home = FileManager.default.homeDirectoryForCurrentUser
            let data =
                ProcessInfo.processInfo.environment["XDG_DATA_HOME"].flatMap { path in
                    path.hasPrefix("/") ? URL(fileURLWithPath: path) : nil
                } ?? home.appendingPathComponent(".local/share")
            return data.appendingPathComponent("gatehouse-client")
                .appendingPathComponent("\(ProcessInfo.processInfo.processName).json")
        }
    }
#endif
