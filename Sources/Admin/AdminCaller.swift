internal import Logging

/// A caller of the admin listener.
struct AdminCaller: Sendable {
    /// The name of the token in the settings; nil if no token is required.
    var name: String?
    var address: String

    /// Returns the caller's metadata for a line of the application log, merged with `more`.
    func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        var metadata = more
        metadata["client_address"] = "\(address)"
        if let name { metadata["operator"] = "\(name)" }
        return metadata
    }
}
