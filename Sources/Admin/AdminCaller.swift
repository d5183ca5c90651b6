internal import Logging

/// The caller of the admin listener.
struct AdminCaller: Sendable {
    /// The name of the token in the settings; nil where none is required.
    var name: String?
    var address: String

    /// For a line of the application log, with `more` of what it says.
    func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        var metadata = more
        metadata["client_address"] = "\(address)"
        if let name { metadata["operator"] = "\(name)" }
        return metadata
    }
}
