/// A path that was not audited.
package struct UnreadFile: Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        case unreadable
        case damaged
        case tooLarge
        case tooManyNames
        case archive(ArchiveError)

        package var text: String {
            switch self {
            case .unreadable: "cannot be read"
            case .damaged: "is damaged"
            case .tooLarge: "is too large"
            case .tooManyNames: "has too many names to look at"
            case .archive(let error): error.rawValue
            }
        }
    }

    package let path: String
    package let reason: Reason
}
