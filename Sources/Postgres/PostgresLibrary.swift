internal import CPostgres
internal import Glibc

/// libpq, loaded where PostgreSQL is used first. A gateway with SQLite never loads it.
///
/// It is not linked: the program starts where the library is not installed. Linked, it would be the one library of the
/// product that most who run it have no use for.
struct PostgresLibrary: @unchecked Sendable {
    // Pointers to functions of a library that stays loaded, written once.
    let functions: gatehouse_libpq

    /// `tcp_user_timeout`, and read-only servers told by their own parameters.
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
