internal import Cryptography

/// The device that a session is bound to.
package enum BoundDevice {
    /// Whether it is the session's, byte for byte and in constant time: it counts beside the token.
    package static func isSame(_ shown: String, as bound: String) -> Bool {
        constantTimeEquals(Array(shown.utf8), Array(bound.utf8))
    }

    /// Whether whoever shows the parent of an unused token may have that one once more: of a session with a device, only
    /// that device. One that does not say which it is may within the window.
    package static func mayHaveAgain(_ shown: String?, of bound: String?, isInWindow: Bool) -> Bool {
        guard let bound else { return true }
        guard let shown else { return isInWindow }
        return isSame(shown, as: bound)
    }
}
