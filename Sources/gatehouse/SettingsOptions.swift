import ArgumentParser
import FoundationEssentials
import Gateway
import Glibc
import Settings

/// `--config`, and what every command does with it.
struct SettingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The YAML file with the settings.", valueName: "file"))
    var config: String

    /// - Throws: exit status 78 (EX_CONFIG of sysexits) after every fault was printed.
    func load() throws -> GatewaySettings {
        do {
            let settings = try read()
            try GatewayService.check(settings)
            return settings
        } catch let faults as SettingsFaults {
            StandardError.write("\(faults)\n")
        }
        throw ExitCode(EX_CONFIG)
    }

    /// - Throws: ``SettingsFaults``
    func read() throws -> GatewaySettings {
        try GatewaySettings.load(path: config, environment: ProcessInfo.processInfo.environment)
    }
}

/// Swift's `print` knows standard output only.
enum StandardError {
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        unsafe bytes.withUnsafeBytes { buffer in
            _ = unsafe Glibc.write(STDERR_FILENO, buffer.baseAddress, buffer.count)
        }
    }
}
