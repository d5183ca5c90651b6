import FoundationEssentials
import Glibc
import Settings
internal import SettingsReader

/// The source of the settings.
enum SettingsOrigin {
    case file(String)
    /// The file that the packages install; the default.
    case standardFile
    /// Text that can be read only once: a reload uses the same text, but reads the files that it names again.
    case text([UInt8], name: String)

    static let variable = "GATEHOUSE_CONFIG_YAML"
    static let standardPath = "/etc/gatehouse/gatehouse.yaml"

    /// Selects `--config` if given, otherwise the text in the environment, otherwise the file that the packages
    /// install.
    ///
    /// - Throws: ``CommandFailure`` if standard input cannot be read.
    init(option: String?, environment: [String: String]) throws(CommandFailure) {
        switch (option, environment[Self.variable]) {
        case ("-"?, _): self = .text(try StandardInput.readAll(), name: "standard-input")
        case (let path?, _): self = .file(path)
        case (nil, let text?): self = .text(Array(text.utf8), name: Self.variable)
        case (nil, nil): self = .standardFile
        }
    }

    /// The name of the source in errors.
    var name: String {
        switch self {
        case .file(let path): path
        case .standardFile: Self.standardPath
        case .text(_, let name): name
        }
    }

    /// - Throws: ``SettingsErrors`` with all errors.
    func read(environment: [String: String]) throws(SettingsErrors) -> GatewaySettings {
        try seeThatTheyAreThere()
        return try GatewaySettings.load(path: name, environment: environment) { (path) throws(FileReadFailure) in
            try bytes(of: path)
        }
    }

    /// Reads only the admin listener's address and certificates, whatever else the settings say.
    ///
    /// - Throws: ``SettingsErrors`` if they can't be read or are invalid.
    func adminEndpoint(environment: [String: String]) throws(SettingsErrors) -> AdminEndpoint {
        try seeThatTheyAreThere()
        return try AdminEndpoint.read(path: name, environment: environment) { (path) throws(FileReadFailure) in
            try bytes(of: path)
        }
    }

    /// Reads only the domains of the pools' hosted pages, whatever else the settings say.
    ///
    /// - Throws: ``CommandFailure`` if they can't be read or are invalid.
    func hostedDomains() throws -> [String] {
        do throws(SettingsErrors) {
            return try GatewaySettings.hostedDomains(path: name, environment: ProcessInfo.processInfo.environment) {
                (path) throws(FileReadFailure) in
                try bytes(of: path)
            }
        } catch {
            throw CommandFailure(error, in: name)
        }
    }

    /// Reads the settings, or a file that they name.
    private func bytes(of path: String) throws(FileReadFailure) -> [UInt8] {
        switch self {
        case .text(let bytes, let name) where path == name:
            guard bytes.count <= 1 << 20 else { throw .tooLarge }
            return bytes
        default: return try readWholeFile(path)
        }
    }

    /// - Throws: ``SettingsErrors`` if there are no settings, with the ways to provide them.
    private func seeThatTheyAreThere() throws(SettingsErrors) {
        switch self {
        case .text(let bytes, Self.variable) where bytes.isEmpty:
            throw missing("it is set and empty: put the settings there, or unset it to use \(Self.standardPath)")
        case .standardFile where unsafe access(Self.standardPath, F_OK) != 0 && errno == ENOENT:
            throw missing("there is no such file: name another with --config, or give the text in \(Self.variable)")
        default: break
        }
    }

    private func missing(_ message: String) -> SettingsErrors {
        SettingsErrors(errors: [SettingsError(file: name, line: 1, column: nil, keyPath: "", message: message)])
    }
}
