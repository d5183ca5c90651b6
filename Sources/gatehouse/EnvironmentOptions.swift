import ArgumentParser
import Glibc
import Settings
internal import SettingsReader

/// `--environment-file`: the variables that the settings name, for who is not started by systemd.
struct EnvironmentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A file of NAME=value lines that set environment variables first, in the form of systemd's EnvironmentFile=, \
            such as /etc/gatehouse/environment.
            """, valueName: "file"), completion: .file())
    var environmentFile: String?

    /// Puts the file's variables into this process's environment, from where the settings, the AWS credentials and
    /// everything else read them. They override variables that are set already, as for a service of systemd.
    ///
    /// - Throws: ``SettingsErrors``
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
