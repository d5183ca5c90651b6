internal import Pipeline
internal import SettingsReader

extension PasswordChangeSettings {
    /// Reads `end_sessions_on_password_change` of a pool's section.
    init(of keys: SettingsMapping) {
        self.init()
        endsOtherSessions = keys.value("end_sessions_on_password_change", .boolean, default: endsOtherSessions)
    }
}

extension TriggerRefusalSettings {
    /// Reads `trigger_messages` of a pool's section.
    init(of keys: SettingsMapping) {
        self.init()
        showsMessages = keys.value("trigger_messages", .boolean, default: showsMessages)
    }
}
