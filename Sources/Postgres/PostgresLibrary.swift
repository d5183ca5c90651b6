internal import CPostgres
internal import Glibc

/// libpq, loaded when PostgreSQL is first used. A gateway with SQLite never loads it.
///
/// It is not linked, so that the program starts without the library, which most installations do not need.
struct PostgresLibrary: @unchecked Sendable {
    // Sendable because the function pointers, of a library that stays loaded, are written once.
    let functions: gatehouse_libpq

    /// The oldest version with `tcp_user_timeout` and with detection of read-only servers by their reported parameters.
    private static let oldest: CInt = 14_00_00

    static let shared: Result<PostgresLibrary, PostgresError> = load("libpq.so.5")

    static func load(_ name: String) -> Result<PostgresLibrary, PostgresError> {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? name
            return .failure(
                PostgresError(.libraryMissing, "libpq cannot be loaded (\(reason)); install it (Debian: libpq5)"))
        }
        var functions = gatehouse_libpq()
        if let missing = gatehouse_libpq_load(&functions, handle) {
            return .failure(PostgresError(.libraryMissing, "libpq lacks \(String(cString: missing))"))
        }
        let version = functions.PQlibVersion()
        guard version >= oldest else {
            return .failure(
                PostgresError(.libraryMissing, "libpq \(version / 10_000) is too old: 14 or later is needed"))
        }
        return .success(PostgresLibrary(functions: functions))
    }
}
