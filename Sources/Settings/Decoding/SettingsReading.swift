internal import Cryptography
internal import Encoding
internal import Yams

/// One reading of a settings file: its text as a tree, then the tree as settings.
struct SettingsReading {
    let context: SettingsContext
    private let digest: String
    private let root: SettingsNode

    init(
        path: String, environment: [String: String],
        readFile: @escaping (String) throws(FileReadFailure) -> [UInt8]
    ) throws(SettingsFaults) {
        func failure(_ message: String, line: Int = 1, column: Int? = nil) -> SettingsFaults {
            SettingsFaults(faults: [
                SettingsFault(file: path, line: line, column: column, keyPath: "", message: message)
            ])
        }
        let bytes: [UInt8]
        do {
            bytes = try readFile(path)
        } catch {
            throw failure("the settings can't be read: \(error)")
        }
        digest = Hexadecimal.encode(Array(SHA256.hash(bytes).prefix(8)))
        do {
            let source = try SettingsSource(bytes)
            context = SettingsContext(
                file: path, environment: environment, readFile: readFile, renamedKeys: source.renamedKeys)
            let place = SettingsPlace(file: context.file)
            root = SettingsNode(yaml: source.root ?? Node([(Node, Node)]()), place: place, context: context)
        } catch {
            throw failure(error.message, line: error.line, column: error.column)
        }
    }

    /// `admin.address` alone: no other value is looked at, and no file read.
    func adminAddress() throws(SettingsFaults) -> HostAndPort? {
        let path = "admin.address"
        let address = root.section { file in
            file.optional("admin")?.section { $0.optional("address")?.read(.listenAddress) }
        }
        let faults = context.sortedFaults.filter { ["", "admin", path].contains($0.keyPath) }
        guard faults.isEmpty else { throw SettingsFaults(faults: faults) }
        return address.flatMap { $0 }.flatMap { $0 }
    }

    func settings() throws(SettingsFaults) -> GatewaySettings {
        let read = root.section(GatewaySettings.init(reading:))
        guard var settings = read, context.faults.isEmpty else { throw SettingsFaults(faults: context.sortedFaults) }
        settings.origin = context.file
        settings.digest = digest
        settings.values = context.values
        settings.writtenPaths = context.writtenPaths
        settings.places = context.places
        return settings
    }
}
