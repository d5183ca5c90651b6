/// The use of a file, by its path.
struct FileRole: Equatable, Sendable {
    var isTest = false
    var isManifest = false
    var isPropertyList = false
    /// Whether the file defines a backend beside the app, as Amplify's tools write it.
    var isBackend = false

    /// The reason why a finding outside comments is a note, or `code`.
    var context: Finding.Context { isTest ? .test : isBackend ? .backend : .code }

    /// - Parameter path: relative to what is audited, so that directories above it say nothing.
    init(path: String, language: Language) {
        let components = path.split(separator: "/").map(String.init)
        let name = components.last ?? ""
        isManifest = Self.isManifest(name, language)
        isPropertyList = name.lowercased().hasSuffix(".plist")
        isBackend = Self.isBackend(components)
        isTest = components.dropLast().contains(where: Self.isTestDirectory) || Self.isTest(name)
    }

    private static func isBackend(_ components: [String]) -> Bool {
        let name = components.last ?? ""
        return zip(components, components.dropFirst()).contains { outer, inner in
            outer == "amplify" && (inner == "backend" || inner == "#current-cloud-backend")
        } || name.contains("cloudformation-template")
    }

    private static let testDirectories: Set<String> = [
        "test", "tests", "__tests__", "__mocks__", "androidtest", "unittests", "uitests", "unit-tests", "spec", "specs",
        "integration_test", "integration-tests", "e2e", "fixtures", "testfixtures", "test_driver", "sharedtest",
    ]

    private static func isTestDirectory(_ name: String) -> Bool {
        testDirectories.contains(name.lowercased()) || name.hasSuffix("Tests") || name.hasSuffix("-tests")
    }

    private static func isTest(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }
        return ["Tests", "Test", "Spec", "_test", "_spec"].contains { stem.hasSuffix($0) && stem.count > $0.count }
            || stem.hasPrefix("test_") || name.contains(".test.") || name.contains(".spec.")
    }

    private static let manifests: Set<String> = [
        "package.swift", "package.resolved", "podfile", "podfile.lock", "cartfile", "cartfile.resolved", "package.json",
        "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pubspec.yaml", "pubspec.lock",
        "project.pbxproj", "gradle.lockfile", "pyproject.toml", "pipfile", "pipfile.lock", "poetry.lock", "setup.py",
        "setup.cfg", "pom.xml", "project.yml", "project.swift",
    ]

    private static func isManifest(_ name: String, _ language: Language) -> Bool {
        let name = name.lowercased()
        return manifests.contains(name) || name.hasSuffix(".gradle") || name.hasSuffix(".gradle.kts")
            || name.hasSuffix(".versions.toml") || name.hasSuffix(".podspec") || name.hasSuffix(".podspec.json")
            || name.hasPrefix("requirements") && name.hasSuffix(".txt")
    }
}
