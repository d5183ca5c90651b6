internal import Settings

/// Why new settings cannot take over, one line a reason.
struct ReloadFaults: Error {
    let lines: [String]

    /// What an operator is told of any fault.
    static func lines(of error: any Error) -> [String] {
        switch error {
        case let faults as SettingsFaults: faults.faults.map(\.description)
        case let faults as ReloadFaults: faults.lines
        default: ["\(error)"]
        }
    }
}
