/// The syntax of a file.
package enum Language: String, CaseIterable, Sendable {
    case swift
    case objectiveC = "objective-c"
    case kotlin
    case java
    case javaScript = "javascript"
    case dart
    case python
    case json
    case yaml
    case xml
    case groovy
    case toml
    case ruby
    case properties
    /// The old format of property lists, Xcode projects and `.strings` files.
    case openStep = "openstep"
    /// Text without comments or strings.
    case document
    /// Binary files, and property lists that were rendered as text.
    case binary

    /// Whether the file is the source of a program.
    var isProgram: Bool {
        switch self {
        case .swift, .objectiveC, .kotlin, .java, .javaScript, .dart, .python: true
        default: false
        }
    }
}
