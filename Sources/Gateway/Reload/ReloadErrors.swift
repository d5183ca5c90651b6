internal import Settings
internal import SettingsReader

/// The errors that prevent valid settings from being used by this process, each with its place in the file.
struct ReloadErrors: Error, CustomStringConvertible {
    let errors: [SettingsError]

    init(_ errors: [SettingsError]) { self.errors = errors.sorted { $0.line < $1.line } }

    var description: String { errors.map(\.description).joined(separator: "; ") }

    /// The lines of an error's report to the operator.
    static func lines(of error: any Error) -> [String] {
        switch error {
        case let errors as SettingsErrors: errors.errors.map(\.description)
        case let errors as ReloadErrors: errors.errors.map(\.description)
        default: ["\(error)"]
        }
    }
}
