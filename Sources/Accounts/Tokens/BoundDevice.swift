internal import Cryptography

/// The device that a session is bound to.
package enum BoundDevice {
    /// Whether it is the session's, byte for byte and in constant time: it counts beside the token.
    package static func isSame(_ shown: String, as bound: String) -> Bool {
        constantTimeEquals(Array(shown.utf8), Array(bound.utf8))
    }
}
