/// Why a database can't be used, besides what SQLite says.
package enum StoreError: Error, Equatable, CustomStringConvertible {
    /// It has steps of the schema that this version doesn't know.
    case newerSchema([String])
    /// The writes before this one took too long.
    case waitedTooLong
    /// A copy isn't whole.
    case damaged([String])

    package var description: String {
        switch self {
        case .newerSchema(let names):
            "it was written by a newer version of gatehouse, which knows \(names.joined(separator: ", ")); "
                + "go on with that version, or restore a backup from before"
        case .waitedTooLong: "the writes before this one took too long"
        case .damaged(let faults): "it is damaged: \(faults.joined(separator: "; "))"
        }
    }
}
