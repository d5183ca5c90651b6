internal import Encoding

/// The messages for users who sign in with an app of another role than theirs.
package struct RoleConflictMessages: Sendable {
    /// For users of a role without a message of its own.
    package let standard: String
    private let byRole: [ExactText: String]

    /// - Parameter byRole: by the role that the user has, so that the message can name the right app.
    package init(_ standard: String = "This account is in use with another app.", byRole: [String: String] = [:]) {
        self.standard = standard
        self.byRole = Dictionary(byRole.map { (ExactText($0.key), $0.value) }) { first, _ in first }
    }

    /// - Parameter role: the user's; nil for a user who has none.
    package func message(for role: String?) -> String { role.flatMap { byRole[ExactText($0)] } ?? standard }
}
