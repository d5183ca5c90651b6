import COpenSSL
import Cryptography
import Glibc
import Testing

@Suite("OpenSSL and the end of the process")
struct CryptographyLibraryTests {
    /// Ends the process otherwise than by its own wish when OpenSSL frees its tables.
    private static func endWhenFreed() {
        OPENSSL_atexit { _exit(77) }
    }

    @Test("It stays usable while the process ends")
    func stays() async {
        await #expect(processExitsWith: .exitCode(0)) {
            CryptographyLibrary.staysUntilTheEnd()
            Self.endWhenFreed()
            exit(0)
        }
    }

    @Test("Otherwise it does not, and after its first use it is too late")
    func late() async {
        await #expect(processExitsWith: .exitCode(77)) {
            _ = SecureRandom.bytes(1)
            CryptographyLibrary.staysUntilTheEnd()
            Self.endWhenFreed()
            exit(0)
        }
    }
}
