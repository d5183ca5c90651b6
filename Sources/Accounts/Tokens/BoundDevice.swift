internal import Cryptography

/// The device that a session is bound to.
package enum BoundDevice {
    /// Returns whether it is the session's device, byte for byte and in constant time: the comparison counts like a
    /// credential, besides the token.
    package static func isSame(_ shown: String, as bound: String) -> Bool {
        constantTimeEquals(Array(shown.utf8), Array(bound.utf8))
    }

    /// Returns whether a client with the parent of an unused token may get that token again. If the session has a
    /// device, only that device may. A client that names no device may within the retry window.
    package static func mayHaveAgain(_ shown: String?, of bound: String?, isInWindow: Bool) -> Bool {
        guard let bound else { return true }
        guard let shown else { return isInWindow }
        return isSame(shown, as: bound)
    }
}
