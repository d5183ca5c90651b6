public import Foundation

extension Gatehouse {
    /// A client of the gateway at a URL, with the system's own store: the Keychain, or on Linux a file in the user's data
    /// directory. The store is the app's for this origin. To keep sessions where the URL changes, name a store.
    public init(url: URL) {
        #if canImport(Security)
            let app = Bundle.main.bundleIdentifier ?? "gatehouse-client"
            let store = KeychainStore(service: Self.storeName(url, of: app))
        #else
            // In `$XDG_DATA_HOME` or `~/.local/share` (XDG Base Directory Specification), one for each program.
            let name = Self.storeName(url, of: ProcessInfo.processInfo.processName)
            let data = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            let store = FileStore(
                (data.first ?? FileManager.default.homeDirectoryForCurrentUser)
                    .appendingPathComponent("gatehouse-client/\(name).json"))
        #endif
        self.init(Configuration(url: url), store: store)
    }

    /// Another origin has another store: a token goes to one only.
    static func storeName(_ url: URL, of app: String) -> String {
        Origin(url).map { "\(app)@\($0.text.pathSegment)" } ?? app
    }
}
