internal import COpenSSL

/// OpenSSL, as a library of the whole process.
package enum CryptographyLibrary {
    /// Keeps OpenSSL usable while the process ends. Otherwise exit(3) has it free its tables while other threads, such as
    /// those of libpq and of Swift's tasks, still verify tokens or make connections with them, and one of them faults.
    ///
    /// To be called before anything else uses OpenSSL, libcurl and libpq included: later it has no effect
    /// (`OPENSSL_INIT_NO_ATEXIT` in OPENSSL_init_crypto(3)).
    package static func staysUntilTheEnd() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
