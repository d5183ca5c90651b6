/// The response to clients when the user pool's own triggers refuse a request.
package struct TriggerRefusalSettings: Sendable, Equatable {
    /// Whether clients get the trigger's message instead of a fixed one.
    package var showsMessages = true

    package init() {}
}
