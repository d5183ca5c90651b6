import ArgumentParser
import Glibc
import Settings
internal import SettingsReader

/// `--environment-file`: variables for the settings, for commands that systemd does not start.
struct EnvironmentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A file of NAME=value lines that set environment variables first, in the form of systemd's EnvironmentFile=, \
            such as /etc/gatehouse/environment.
            """, valueName: "file"), completion: .file())
    var environmentFile: String?

    /// Sets the file's variables in this process's environment, which the settings, the AWS credentials and everything
    /// else use. They override existing variables, as in a systemd service.
    ///
    /// - Throws: ``SettingsErrors`` if the file can't be read or has errors.
    func apply() throws {
        guard let path = environmentFile else { return }
        let bytes: [UInt8]
        do throws(FileReadFailure) {
            bytes = try readWholeFile(path)
        } catch {
            throw SettingsErrors(errors: [
                SettingsError(file: path, line: 1, column: nil, keyPath: "", message: error.description)
            ])
        }
        for variable in try EnvironmentFile.variables(String(decoding: bytes, as: UTF8.self), of: path) {
            unsafe setenv(variable.name, variable.value, 1)
        }
    }
}
