internal import COpenSSL

/// The reason that a cryptographic operation was refused. Contains only the name of the step: never key, plaintext or
/// OpenSSL text.
package enum CryptographyError: Error, Equatable, Sendable {
    /// The key is of the wrong kind or size, or is not acceptable for the reason named.
    case unacceptableKey(String)
    /// The sealed text was not made with this key and this authenticated data, or it was altered.
    case notAuthentic
    /// OpenSSL refused the step named.
    case failed(String)
}

/// Clears OpenSSL's error queue of this thread, so that no error of one operation appears in another.
func clearErrors() {
    ERR_clear_error()
}

/// The error of the named step; clears OpenSSL's error queue.
func failure(_ step: String) -> CryptographyError {
    clearErrors()
    return .failed(step)
}
