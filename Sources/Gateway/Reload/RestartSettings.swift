internal import NIOCore
internal import Settings
internal import SettingsReader

/// The settings that hold for the life of a process.
enum RestartSettings {
    /// A fault for each that differs, by line; none when nothing stands against a reload.
    static func changes(
        from old: GatewaySettings, to new: GatewaySettings, cores: Int = System.coreCount
    ) -> [SettingsError] {
        let values: [(key: String, old: String, new: String)] = [
            ("threads", "\(loops(old, cores))", "\(loops(new, cores))"),
            ("admin.address", "\(old.adminAddress)", "\(new.adminAddress)"),
            ("state_directory", old.stateDirectory, new.stateDirectory),
        ]
        // Old revocations are let count while the database is away, and without it a restart fails.
        var state = new.state
        if let old = old.state { state?.postgres.staleRevocations = old.postgres.staleRevocations }
        let changed = old.state == state ? [] : [new.error(of: "state", "a change takes a restart")]
        return
            (changed
            + values.filter { $0.old != $0.new }.map {
                new.error(of: $0.key, "a change takes a restart (in use: \($0.old); now in the file: \($0.new))")
            }).sorted { $0.line < $1.line }
    }

    /// How many event loops there are to be.
    static func loops(_ settings: GatewaySettings, _ cores: Int = System.coreCount) -> Int {
        settings.threads > 0 ? settings.threads : cores
    }
}
