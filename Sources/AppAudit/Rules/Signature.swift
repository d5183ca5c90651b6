/// A text that a rule looks for, and the conditions under which it is a finding.
struct Signature: Sendable {
    /// The files in which it counts.
    struct Files: OptionSet, Sendable {
        let rawValue: Int
        static let programs = Files(rawValue: 1)
        /// JSON, YAML, property lists, properties and the like.
        static let data = Files(rawValue: 2)
        /// Lists of dependencies.
        static let manifests = Files(rawValue: 4)
        static let binaries = Files(rawValue: 8)
        static let texts: Files = [.programs, .data, .manifests]
        static let all: Files = [.texts, .binaries]
    }

    /// Facts about the rest of the file.
    enum Evidence: CaseIterable, Sendable {
        case cognito
        case amplifyForJavaScript
        /// Amplify's components for sign-in in JavaScript.
        case amplifyComponents
        case cognitoClientForJavaScript
        case preferences
    }

    /// A look at the bytes around it.
    enum Check: Sendable {
        case none
        /// The name of an operation, alone or with the ending of a request's type.
        case operation
        /// A name that is called.
        case call
        /// A host, and not a file's name.
        case host
        /// The whole string.
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
        /// The name of a package, alone or with a path or a subpackage behind it.
        case package
    }

    /// Nil for a text that is evidence only.
    let rule: Rule?
    let text: [UInt8]
    var files: Files = .programs
    /// Nil for all that belong to ``files``.
    var languages: Set<Language>?
    /// Nil for code and strings.
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
    /// Also as a part of longer words.
    func anywhere() -> Self { with { ($0.startsWord, $0.endsWord) = (false, false) } }
    func prefix() -> Self { with { $0.endsWord = false } }
    func inAnyCase() -> Self { with { $0.hasExactCase = false } }
    func checked(_ check: Check) -> Self { with { $0.check = check } }
    func needing(_ evidence: Evidence) -> Self { with { $0.needs = evidence } }
    func giving(_ evidence: Evidence) -> Self { with { $0.gives = evidence } }
}
