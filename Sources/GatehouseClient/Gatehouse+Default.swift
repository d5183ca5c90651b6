public import Foundation

extension Gatehouse {
    /// A client of the gateway at a URL, with the system's own store: the Keychain, or on Linux a file in the user's data
    /// directory.
    public init(url: URL) {
        #if canImport(Security)
            let store = KeychainStore(service: Bundle.main.bundleIdentifier ?? "gatehouse-client")
        #else
            // In `$XDG_DATA_HOME` or `~/.local/share` (XDG Base Directory Specification), one for each program.
            let data = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            let store = FileStore(
                (data.first ?? FileManager.default.homeDirectoryForCurrentUser)
                    .appendingPathComponent("gatehouse-client/\(ProcessInfo.processInfo.processName).json"))
        #endif
        self.init(Configuration(url: url), store: store)
    }
}
