import ArgumentParser
import FoundationEssentials
import Gateway
import Keys
import Settings
internal import SettingsReader

/// The file without `--config`, as one would try it.
struct SettingsFile: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The same as --config.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var file: String?
}

/// `--config`, and what every command does with it.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The YAML file with the configuration; - is standard input. Default: the text in the environment variable \
            GATEHOUSE_CONFIG_YAML, else /etc/gatehouse/gatehouse.yaml.
            """, valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var environment: EnvironmentOptions

    /// Where the settings are, found after `--environment-file` has been read.
    ///
    /// - Throws: ``CommandFailure``
    func origin() throws -> SettingsOrigin { try .found(by: config, environment) }

    /// The same, where the file may stand by itself.
    func origin(_ argument: SettingsFile) throws -> SettingsOrigin {
        guard argument.file == nil || config == nil else {
            throw ValidationError("The file is given twice: '\(argument.file ?? "")' and --config.")
        }
        return try .found(by: argument.file ?? config, environment)
    }

    /// - Throws: ``CommandFailure`` with every fault.
    func load() throws -> GatewaySettings { try origin().load() }

    /// As ``load()``, for what works in the state directory: root goes on as its owner.
    func loadForState() throws -> GatewaySettings {
        let settings = try load()
        try StateOwner.become(settings.stateDirectory)
        return settings
    }

    /// The place of the gateway's own keys, for a command beside gateways that run or do not.
    func keyRings(_ settings: GatewaySettings) async throws -> KeyRings {
        try await GatewayState.keyRings(settings)
    }

    /// The settings as the service will read them: root reads them once more as the state directory's owner.
    ///
    /// - Throws: ``CommandFailure`` with every fault.
    func loadAsService(_ origin: SettingsOrigin) throws -> GatewaySettings {
        let settings = try origin.load()
        guard let owner = try StateOwner.become(settings.stateDirectory) else { return settings }
        return try origin.load(as: "\(owner), to whom \(settings.stateDirectory) belongs")
    }
}

extension SettingsOrigin {
    /// - Throws: ``CommandFailure``
    static func found(by option: String?, _ environment: EnvironmentOptions) throws -> SettingsOrigin {
        do {
            try environment.apply()
        } catch let errors as SettingsErrors {
            throw CommandFailure(errors, in: environment.environmentFile ?? "")
        }
        return try SettingsOrigin(option: option, environment: ProcessInfo.processInfo.environment)
    }

    /// Reads the settings and sees that they fit together.
    ///
    /// - Parameter reader: who reads them, where that is not who runs the command.
    /// - Throws: ``CommandFailure`` with every fault.
    func load(as reader: String? = nil) throws -> GatewaySettings {
        do {
            let settings = try read(environment: ProcessInfo.processInfo.environment)
            try GatewayService.check(settings)
            return settings
        } catch let errors as SettingsErrors {
            throw CommandFailure(errors, in: name, readBy: reader)
        }
    }
}
