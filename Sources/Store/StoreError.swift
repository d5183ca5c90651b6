internal import GRDB

/// Why a database can't be used, besides what SQLite says.
package enum StoreError: Error, Equatable, CustomStringConvertible {
    /// It has steps of the schema that this version doesn't know. The copy is one from before them.
    case newerSchema([String], copy: String? = nil)
    /// It could not be copied before its schema changed, and has not changed: the path of the copy, and why.
    case notCopied(String, String)
    /// Its schema could not be changed, or not as a whole: the path of the copy from before, and why.
    case notMigrated(String?, String)
    /// The writes before this one took too long.
    case waitedTooLong
    /// The disk has not responded for too long. It may take what was written all the same.
    case noResponse
    /// The database's file was removed, or another one is in its place.
    case fileIsGone
    /// A row that was there a moment ago, and has been removed meanwhile.
    case rowVanished
    /// A copy isn't whole.
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
    /// The text of a store's error for an operator, without the SQL that met it.
    package static func words(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(error)" }
        // A rollback behind a failure replaces SQLite's words for it.
        let reason =
            (error.message?.utf8.elementsEqual("not an error".utf8) == true
                ? DatabaseError(resultCode: error.extendedResultCode).message : error.message) ?? "no reason is given"
        switch error.resultCode {
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: return "it is not a SQLite database, or it is damaged (\(reason))"
        default: return "SQLite error \(error.extendedResultCode.rawValue): \(reason)"
        }
    }
}
