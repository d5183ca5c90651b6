import ArgumentParser
import FoundationEssentials
import Gateway
import Settings

/// `--config`, and what every command does with it.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The YAML file with the settings; - for standard input. Without it: the text in the environment variable \
            GATEHOUSE_CONFIG_YAML, else /etc/gatehouse/gatehouse.yaml.
            """, valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    var origin: SettingsOrigin {
        SettingsOrigin(option: config, environment: ProcessInfo.processInfo.environment)
    }

    /// - Throws: exit status 78 after every fault was printed.
    func load() throws -> GatewaySettings { try load(origin) }

    /// As ``load()``, from where the settings have been found to be.
    func load(_ origin: SettingsOrigin) throws -> GatewaySettings {
        do {
            return try read(origin)
        } catch let faults as SettingsFaults {
            for fault in faults.faults { StandardError.write(fault.text(on: .standardError) + "\n") }
        }
        throw ExitCode.faultyConfiguration
    }

    /// Reads the settings and sees that they fit together.
    ///
    /// - Throws: ``SettingsFaults``
    func read(_ origin: SettingsOrigin) throws -> GatewaySettings {
        let settings = try origin.read(environment: ProcessInfo.processInfo.environment)
        try GatewayService.check(settings)
        return settings
    }
}

extension SettingsFault {
    /// For people: the place and the key stand out.
    func text(on terminal: Terminal) -> String {
        let place = terminal.styled(.bold, "\(file):\(line):")
        return keyPath.isEmpty
            ? "\(place) \(message)" : "\(place) \(terminal.styled(.bad, keyPath)): \(message)"
    }
}
