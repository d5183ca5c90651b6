/// A text that a rule searches for, and the conditions for a finding.
struct Signature: Sendable {
    /// The kinds of files that are searched.
    struct Files: OptionSet, Sendable {
        let rawValue: Int
        static let programs = Files(rawValue: 1)
        /// Data files: JSON, YAML, property lists, properties and similar formats.
        static let data = Files(rawValue: 2)
        /// Lists of dependencies.
        static let manifests = Files(rawValue: 4)
        static let binaries = Files(rawValue: 8)
        static let texts: Files = [.programs, .data, .manifests]
        static let all: Files = [.texts, .binaries]
    }

    /// Facts about the file as a whole.
    enum Evidence: CaseIterable, Sendable {
        case cognito
        case amplifyForJavaScript
        /// Amplify's sign-in components for JavaScript.
        case amplifyComponents
        case cognitoClientForJavaScript
        case preferences
    }

    /// A check of the surrounding bytes.
    enum Check: Sendable {
        case none
        /// The name of an operation, alone or with the suffix of a request type.
        case operation
        /// The name of a function that is called.
        case call
        /// A host name, not the name of a file.
        case host
        /// A complete string.
        case wholeString
        case poolID
        case identityPoolID
        case plistKey
        case secretValue
        case storedToken
        /// A function of Amplify's Auth class for JavaScript.
        case authFunction
        /// A package from which the same line imports Amplify's Auth class.
        case authImport
        /// The name of a package, alone or followed by a path or a subpackage.
        case package
    }

    /// Nil for a text that is only evidence.
    let rule: Rule?
    let text: [UInt8]
    var files: Files = .programs
    /// Nil: all languages of ``files``.
    var languages: Set<Language>?
    /// Nil: code and strings.
    var place: RegionKind?
    var startsWord = true
    var endsWord = true
    var hasExactCase = true
    var check = Check.none
    var needs: Evidence?
    var gives: Evidence?

    init(_ rule: Rule?, _ text: String) {
        self.rule = rule
        self.text = Array(text.utf8)
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    func inFiles(_ files: Files) -> Self { with { $0.files = files } }
    func inLanguages(_ languages: Set<Language>) -> Self { with { $0.languages = languages } }
    func inStrings() -> Self { with { $0.place = .string } }
    func inCode() -> Self { with { $0.place = .code } }
    /// Also inside longer words.
    func anywhere() -> Self { with { ($0.startsWord, $0.endsWord) = (false, false) } }
    func prefix() -> Self { with { $0.endsWord = false } }
    func inAnyCase() -> Self { with { $0.hasExactCase = false } }
    func checked(_ check: Check) -> Self { with { $0.check = check } }
    func needing(_ evidence: Evidence) -> Self { with { $0.needs = evidence } }
    func giving(_ evidence: Evidence) -> Self { with { $0.gives = evidence } }
}
