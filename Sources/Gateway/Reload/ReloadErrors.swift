internal import Settings
internal import SettingsReader

/// Why settings that are good in themselves cannot be used here and now, each reason with its place in the file.
struct ReloadErrors: Error, CustomStringConvertible {
    let faults: [SettingsError]

    init(_ faults: [SettingsError]) { self.faults = faults.sorted { $0.line < $1.line } }

    var description: String { faults.map(\.description).joined(separator: "; ") }

    /// The lines of an error's report to the operator.
    static func lines(of error: any Error) -> [String] {
        switch error {
        case let faults as SettingsErrors: faults.faults.map(\.description)
        case let faults as ReloadErrors: faults.faults.map(\.description)
        default: ["\(error)"]
        }
    }
}
