import ArgumentParser
import FoundationEssentials
import Gateway
import Keys
import Settings
internal import SettingsReader

/// The settings file as a positional argument, without `--config`.
struct SettingsFile: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The same as --config.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var file: String?
}

/// `--config`, and the loading of settings that all commands share.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The YAML file with the configuration; - is standard input. Default: the text in the environment variable \
            GATEHOUSE_CONFIG_YAML, else /etc/gatehouse/gatehouse.yaml.
            """, valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var environment: EnvironmentOptions

    /// The source of the settings, determined after `--environment-file` has been read.
    ///
    /// - Throws: ``CommandFailure`` if the environment file is invalid or standard input can't be read.
    func origin() throws -> SettingsOrigin { try .found(by: config, environment) }

    /// As ``origin()``, for commands that also accept the file as an argument.
    func origin(_ argument: SettingsFile) throws -> SettingsOrigin {
        guard argument.file == nil || config == nil else {
            throw ValidationError("The file is given twice: '\(argument.file ?? "")' and --config.")
        }
        return try .found(by: argument.file ?? config, environment)
    }

    /// - Throws: ``CommandFailure`` with all errors.
    func load() throws -> GatewaySettings { try origin().load() }

    /// As ``load()``, for commands that work in the state directory: root continues as the directory's owner.
    func loadForState() throws -> GatewaySettings {
        let settings = try load()
        try StateOwner.become(settings.stateDirectory)
        return settings
    }

    /// The key rings of the gateway, for a command that runs beside running gateways or without them.
    func keyRings(_ settings: GatewaySettings) async throws -> KeyRings {
        try await GatewayState.keyRings(settings)
    }

    /// The settings as the service reads them: root reads them again as the owner of the state directory.
    ///
    /// - Throws: ``CommandFailure`` with all errors.
    func loadAsService(_ origin: SettingsOrigin) throws -> GatewaySettings {
        let settings = try origin.load()
        guard let owner = try StateOwner.become(settings.stateDirectory) else { return settings }
        return try origin.load(as: "\(owner), to whom \(settings.stateDirectory) belongs")
    }
}

extension SettingsOrigin {
    /// - Throws: ``CommandFailure`` if the environment file is invalid or standard input can't be read.
    static func found(by option: String?, _ environment: EnvironmentOptions) throws -> SettingsOrigin {
        do {
            try environment.apply()
        } catch let errors as SettingsErrors {
            throw CommandFailure(errors, in: environment.environmentFile ?? "")
        }
        return try SettingsOrigin(option: option, environment: ProcessInfo.processInfo.environment)
    }

    /// Reads the settings and checks that they are consistent.
    ///
    /// - Parameter reader: the user who reads them, if it is not the user who runs the command.
    /// - Throws: ``CommandFailure`` with all errors.
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
