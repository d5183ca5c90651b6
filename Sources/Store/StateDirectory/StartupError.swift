/// The reason why a gateway with valid settings cannot start.
package struct StartupError: Error, CustomStringConvertible {
    package let description: String
    /// The error of the state directory itself; nil for other errors.
    package var ofStateDirectory: KeyFileError?

    package init(description: String) { self.description = description }

    package init(ofStateDirectory error: KeyFileError) {
        description = "state_directory: \(error)"
        ofStateDirectory = error
    }
}
