/// What is wrong with a pattern or a table of routes, in words for whoever wrote the configuration.
package struct RouteFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}
