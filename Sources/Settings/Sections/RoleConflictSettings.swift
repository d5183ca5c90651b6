internal import Pipeline
internal import SettingsReader

extension RoleConflictMessages {
    /// Reads `role_conflict_message`: one text, or a section with a text for each role.
    ///
    /// - Parameter roles: the roles of the apps.
    init(of keys: SettingsMapping, roles: Set<String>) {
        let standard = RoleConflictMessages().standard
        guard let node = keys.optional("role_conflict_message"), !node.isScalar else {
            self.init(keys.value("role_conflict_message", .text, default: standard))
            return
        }
        var messages: [String: String] = [:]
        for (role, entry) in node.identifiedEntries() {
            if !roles.contains(role) { entry.error("\"\(role)\" is none of the roles in sign_in.apple.roles") }
            messages[role] = entry.read(.text)
        }
        self.init(standard, byRole: messages)
    }
}
