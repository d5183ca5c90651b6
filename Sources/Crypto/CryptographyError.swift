internal import COpenSSL

/// Why a cryptographic operation was refused. Carries the name of the step only: never key, plaintext or OpenSSL text.
package enum CryptographyError: Error, Equatable, Sendable {
    /// The key is of the wrong kind or size, or is not acceptable for the reason named.
    case unacceptableKey(String)
    /// The sealed text was not made with this key and this authenticated data, or it was altered.
    case notAuthentic
    /// OpenSSL refused the step named.
    case failed(String)
}

/// Drops what OpenSSL queued for this thread, so that nothing of one operation shows up in another's.
func clearErrors() {
    ERR_clear_error()
}

/// The failure of the step named, with OpenSSL's queue emptied.
func failure(_ step: String) -> CryptographyError {
    clearErrors()
    return .failed(step)
}
