import FoundationEssentials
import Settings

/// Where the settings come from.
enum SettingsOrigin {
    case file(String)
    /// Text that is there once: a reload reads it again as it was, and the files that it names as they are.
    case text([UInt8], name: String)

    static let variable = "GATEHOUSE_CONFIG_YAML"
    static let standardFile = "/etc/gatehouse/gatehouse.yaml"

    /// `--config`, where it is given; else the environment's text; else the file that the packages install.
    init(option: String?, environment: [String: String]) {
        switch (option, environment[Self.variable]) {
        case ("-"?, _): self = .text(StandardInput.readAll(), name: "standard-input")
        case (let path?, _): self = .file(path)
        case (nil, let text?): self = .text(Array(text.utf8), name: Self.variable)
        case (nil, _): self = .file(Self.standardFile)
        }
    }

    /// How faults call it.
    var name: String {
        switch self {
        case .file(let path): path
        case .text(_, let name): name
        }
    }

    /// - Throws: ``SettingsFaults``
    func read(environment: [String: String]) throws(SettingsFaults) -> GatewaySettings {
        switch self {
        case .file(let path):
            return try GatewaySettings.load(path: path, environment: environment)
        case .text(let bytes, Self.variable) where bytes.isEmpty:
            throw SettingsFaults(faults: [
                SettingsFault(
                    file: Self.variable, line: 1, column: nil, keyPath: "",
                    message: "it is set and empty: put the settings there, or unset it to use \(Self.standardFile)")
            ])
        case .text(let bytes, let name):
            return try GatewaySettings.load(path: name, environment: environment) { (path) throws(FileReadFailure) in
                if path != name { return try readWholeFile(path) }
                guard bytes.count <= 1 << 20 else { throw .tooLarge }
                return bytes
            }
        }
    }
}
