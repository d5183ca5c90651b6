import ArgumentParser
import Glibc

/// The statuses of sysexits(3) that the commands end with, beside 0 and 1.
extension ExitCode {
    /// 69: something that was asked gave no answer, or a bad one.
    static let unavailable = ExitCode(EX_UNAVAILABLE)
    /// 70: the gateway could not start, or not go on.
    static let cannotRun = ExitCode(EX_SOFTWARE)
    /// 78: the configuration is faulty.
    static let invalidConfiguration = ExitCode(EX_CONFIG)
}

/// The help text about exit statuses.
enum ExitStatusHelp {
    static let text = """
        Exit status:
          0   done, or the answer is yes
          1   the answer is no (token rejected, not ready), or it failed
          64  the command line is wrong: no such command, option or value
          69  check --online: something did not answer as it should
          70  serve, local-pool: it cannot start, such as with an address in use
          78  the configuration is faulty; every fault is printed
        """
}
