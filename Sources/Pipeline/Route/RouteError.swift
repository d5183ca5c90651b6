/// An error in a pattern or a table of routes, described for the author of the configuration.
package struct RouteError: Error, Equatable, Sendable, CustomStringConvertible {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }

    package var description: String { message }
}
