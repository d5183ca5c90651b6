internal import GRDB

/// Errors of a database other than SQLite's own.
package enum StoreError: Error, Equatable, CustomStringConvertible {
    /// It has schema steps unknown to this version. `copy` is the path of one from before them.
    case newerSchema([String], copy: String? = nil)
    /// It could not be copied before its schema changed, and has not changed: the path of the copy, and the reason.
    case notCopied(String, String)
    /// Its schema could not be changed, or not completely: the path of the copy from before, and the reason.
    case notMigrated(String?, String)
    /// The preceding writes took too long.
    case waitedTooLong
    /// The disk has not responded in time. The data may still be written.
    case noResponse
    /// The database file was removed or replaced.
    case fileIsGone
    /// A row was removed between two statements.
    case rowVanished
    /// A copy is damaged.
    case damaged([String])

    package var description: String {
        switch self {
        case .newerSchema(let names, let copy):
            "it was written by a newer version of gatehouse, which knows \(names.joined(separator: ", ")); "
                + "go on with that version, or restore "
                + (copy.map { "the copy from before: gatehouse store restore \($0)" } ?? "a backup from before")
        case .notCopied(let copy, let reason):
            "this version changes its schema, and copies it to \(copy) before: \(reason). Nothing has changed"
        case .notMigrated(let copy, let reason):
            "its schema cannot be changed: \(reason). Start this version again when that is mended"
                + (copy.map { ", or the version before with the copy from before: gatehouse store restore \($0)" } ?? "")
        case .waitedTooLong: "the writes before this one took too long"
        case .noResponse: "the disk does not respond"
        case .fileIsGone: "its file was removed or replaced; what is written now is lost: restart the gateway"
        case .rowVanished: "what it changes has been removed meanwhile"
        case .damaged(let errors): "it is damaged: \(errors.joined(separator: "; "))"
        }
    }
}

extension StoreError {
    /// The text of a store's error for an operator, without the failed SQL.
    package static func words(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(error)" }
        // A rollback after a failure replaces SQLite's message.
        let reason =
            (error.message?.utf8.elementsEqual("not an error".utf8) == true
                ? DatabaseError(resultCode: error.extendedResultCode).message : error.message) ?? "no reason is given"
        switch error.resultCode {
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: return "it is not a SQLite database, or it is damaged (\(reason))"
        default: return "SQLite error \(error.extendedResultCode.rawValue): \(reason)"
        }
    }
}
