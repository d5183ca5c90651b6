internal import NIOCore
internal import Settings
internal import SettingsReader

/// The settings that can be changed only by a restart.
enum RestartSettings {
    /// Returns an error for each of these settings that differs, by line; empty if a reload is possible.
    static func changes(
        from old: GatewaySettings, to new: GatewaySettings, cores: Int = System.coreCount
    ) -> [SettingsError] {
        let values: [(key: String, old: String, new: String)] = [
            ("threads", "\(loops(old, cores))", "\(loops(new, cores))"),
            ("admin.address", "\(old.adminAddress)", "\(new.adminAddress)"),
            ("state_directory", old.stateDirectory, new.stateDirectory),
        ]
        // The handling of stale revocations may change at a reload: it matters while the database is unreachable, and
        // then a restart fails.
        var state = new.state
        if let old = old.state { state?.postgres.staleRevocations = old.postgres.staleRevocations }
        let changed = old.state == state ? [] : [new.error(of: "state", "a change takes a restart")]
        return
            (changed
            + values.filter { $0.old != $0.new }.map {
                new.error(of: $0.key, "a change takes a restart (in use: \($0.old); now in the file: \($0.new))")
            }).sorted { $0.line < $1.line }
    }

    /// The number of event loops.
    static func loops(_ settings: GatewaySettings, _ cores: Int = System.coreCount) -> Int {
        settings.threads > 0 ? settings.threads : cores
    }
}
