import ArgumentParser
import Glibc

/// The exit statuses from sysexits(3) that the commands use, besides 0 and 1.
extension ExitCode {
    /// 69: a dependency did not respond, or not as it should.
    static let unavailable = ExitCode(EX_UNAVAILABLE)
    /// 70: the gateway could not start or continue.
    static let cannotRun = ExitCode(EX_SOFTWARE)
    /// 78: the configuration has errors.
    static let invalidConfiguration = ExitCode(EX_CONFIG)
}

/// The help text about exit statuses.
enum ExitStatusHelp {
    static let meanings: [(status: ExitCode, meaning: String)] = [
        (.success, "success, or the answer is yes"),
        (.failure, "the answer is no (token rejected, not ready), or it failed"),
        (.validationFailure, "wrong command line: no such command, option or value"),
        (.unavailable, "check --online: a dependency did not respond as it should"),
        (.cannotRun, "serve, local-pool: cannot start, such as an address in use"),
        (.invalidConfiguration, "the configuration has errors; all are printed"),
    ]

    static let text =
        "Exit status:\n"
        + meanings.map { status, meaning in
            let number = String(status.rawValue)
            return "  \(number)\(String(repeating: " ", count: 4 - number.count))\(meaning)"
        }.joined(separator: "\n")
}
