/// The clients' view of refusals by the user pool's own triggers.
package struct TriggerRefusalSettings: Sendable, Equatable {
    /// Whether clients get the trigger's message, or a fixed one.
    package var showsMessages = true

    package init() {}
}
