internal import COpenSSL

/// OpenSSL, as a library of the whole process.
package enum CryptographyLibrary {
    /// Keeps OpenSSL usable while the process ends. Otherwise exit(3) makes it free its tables while other threads,
    /// such as those of libpq and of Swift's tasks, still use them to verify tokens or make connections, and one of
    /// them crashes.
    ///
    /// Must be called before any other use of OpenSSL, including by libcurl and libpq: later it has no effect
    /// (`OPENSSL_INIT_NO_ATEXIT` in OPENSSL_init_crypto(3)).
    package static func staysUntilTheEnd() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
