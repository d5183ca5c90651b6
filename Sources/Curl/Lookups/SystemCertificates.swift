internal import CCurl
internal import Cryptography
internal import Glibc
internal import Locking
internal import NIOCore

/// The certificates that the system trusts: the bundle at libcurl's built-in path, read by the gateway itself.
///
/// libcurl reads the bundle for each connection if it was also built with a folder of certificates, as in Debian: this
/// blocks an event loop for 50 ms each time.
enum SystemCertificates {
    /// There is only one bundle.
    struct Key: Hashable, Sendable {}

    /// A change of the file is noticed by the first connection after a minute, and takes effect for the next one.
    static let shared = SharedLookups<Key, TrustedCertificates>(
        LookupTimes(fresh: .seconds(60), servedWhileRefreshed: nil, patience: .zero, retry: .seconds(1)),
        on: LookupThreads(most: 1)
    ) { _ in read() }

    private struct Version: Equatable {
        var device: UInt
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int
    }

    private struct State {
        var last: (version: Version, certificates: TrustedCertificates)?
        var processEnds = false
    }

    /// Locked while the files are read, so that the process cannot exit meanwhile.
    private static let state = Locked(State())

    /// At process exit, OpenSSL frees memory that a reading thread may still use. OpenSSL's exit handler was registered
    /// when libcurl was initialized, and so runs after this one (atexit(3)).
    private static let isGuarded: Bool = {
        CurlGlobal.start()
        return atexit { state.withLock { $0.processEnds = true } } == 0
    }()

    private static func read() -> LookupResult<TrustedCertificates> {
        let failure = CurlFailure(CURLE_SSL_CACERT_BADFILE)
        let places = CurlGlobal.certificatePlaces
        return state.withLock { state in
            guard isGuarded, !state.processEnds else { return .failed(failure) }
            let version = places.file.flatMap(version)
            if let version, let last = state.last, last.version == version { return .found(last.certificates) }
            guard let certificates = try? TrustedCertificates(file: places.file, folder: places.folder) else {
                return .failed(failure)
            }
            if let version { state.last = (version, certificates) }
            return .found(certificates)
        }
    }

    private static func version(of file: String) -> Version? {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        return Version(
            device: UInt(status.st_dev), inode: UInt(status.st_ino), size: Int(status.st_size),
            seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }
}
