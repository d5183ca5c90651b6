internal import Encoding

/// The messages for users who sign in with an app of another role than their own.
package struct RoleConflictMessages: Sendable {
    /// The message for users of a role without a message of its own.
    package let standard: String
    private let byRole: [ExactText: String]

    /// - Parameter byRole: by the user's role, so that the message can name the right app.
    package init(_ standard: String = "This account is in use with another app.", byRole: [String: String] = [:]) {
        self.standard = standard
        self.byRole = Dictionary(byRole.map { (ExactText($0.key), $0.value) }) { first, _ in first }
    }

    /// - Parameter role: the user's role; nil for none.
    package func message(for role: String?) -> String { role.flatMap { byRole[ExactText($0)] } ?? standard }
}
