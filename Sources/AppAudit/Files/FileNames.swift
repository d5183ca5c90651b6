/// Classifies files by their names and first bytes.
enum FileNames {
    /// Returns nil for files that are read only if their first bytes are those of a program.
    static func language(of name: String) -> Language? {
        let name = name.lowercased()
        if let language = wholeNames[name] { return language }
        if name.hasPrefix("requirements"), name.hasSuffix(".txt") { return .ruby }
        guard let dot = name.lastIndex(of: ".") else { return nil }
        return endings[String(name[name.index(after: dot)...])]
    }

    /// The last component of a path.
    static func last(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// Whether to open a file with this name. Names of programs may have dots, as in `Acme.com.app/Acme.com`.
    static func mayBeRead(_ name: String) -> Bool {
        name.lastIndex(of: ".").map { !media.contains(name[name.index(after: $0)...].lowercased()) } ?? true
    }

    /// Whether an archive in the tree is read. Others are usually test data and downloads, not parts of an app.
    static func isAppOrLibrary(_ name: String) -> Bool { !name.lowercased().hasSuffix(".zip") }

    static func isArchive(_ name: String) -> Bool {
        let name = name.lowercased()
        return [".ipa", ".apk", ".aab", ".aar", ".jar", ".xapk", ".apks", ".zip"].contains { name.hasSuffix($0) }
    }

    /// Whether the name is that of a configuration file of Amplify or an AWS SDK, whatever its contents.
    static func isAmplifyConfiguration(_ name: String) -> Bool {
        let name = name.lowercased()
        return [
            "amplifyconfiguration.json", "awsconfiguration.json", "amplify_outputs.json", "aws-exports.js",
            "aws-exports.ts", "aws-exports.json", "amplifyconfiguration.dart", "amplify_outputs.dart",
        ].contains(name)
    }

    /// Whether the first bytes are those of a program: any form of Mach-O, ELF, DEX, or Hermes bytecode.
    static func isProgram(_ bytes: some Collection<UInt8>) -> Bool {
        let first = Array(bytes.prefix(4))
        return programs.contains(first)
    }

    /// Whether the first bytes are those of Hermes bytecode.
    static func isHermes(_ bytes: some Collection<UInt8>) -> Bool { bytes.starts(with: [0xC6, 0x1F, 0xBC, 0x03]) }

    private static let programs: [[UInt8]] = [
        [0xFE, 0xED, 0xFA, 0xCE], [0xFE, 0xED, 0xFA, 0xCF], [0xCE, 0xFA, 0xED, 0xFE], [0xCF, 0xFA, 0xED, 0xFE],
        [0xCA, 0xFE, 0xBA, 0xBE], [0xBE, 0xBA, 0xFE, 0xCA], [0xCA, 0xFE, 0xBA, 0xBF], [0x7F, 0x45, 0x4C, 0x46],
        [0x64, 0x65, 0x78, 0x0A], [0xC6, 0x1F, 0xBC, 0x03],
    ]

    private static let wholeNames: [String: Language] = [
        "podfile": .ruby, "podfile.lock": .yaml, "cartfile": .ruby, "cartfile.resolved": .ruby, "fastfile": .ruby,
        "appfile": .ruby, "package.resolved": .json, "yarn.lock": .yaml, "pubspec.lock": .yaml,
        "gradle.lockfile": .properties, "pipfile": .toml, "pipfile.lock": .json, "poetry.lock": .toml,
        ".env": .properties, "readme": .document, "changelog": .document,
    ]

    /// The extensions of images, fonts, audio and video.
    private static let media: Set<String> = [
        "png", "jpg", "jpeg", "gif", "webp", "heic", "heif", "avif", "bmp", "tif", "tiff", "ico", "icns", "svg", "ttf",
        "otf", "ttc", "woff", "woff2", "mp3", "m4a", "aac", "wav", "ogg", "caf", "flac", "mp4", "mov", "m4v", "webm",
    ]

    private static let endings: [String: Language] = [
        "swift": .swift, "m": .objectiveC, "mm": .objectiveC, "h": .objectiveC, "c": .objectiveC, "cpp": .objectiveC,
        "cc": .objectiveC, "hpp": .objectiveC, "kt": .kotlin, "kts": .kotlin, "java": .java, "js": .javaScript,
        "jsx": .javaScript, "ts": .javaScript, "tsx": .javaScript, "mjs": .javaScript, "cjs": .javaScript,
        "mts": .javaScript, "cts": .javaScript, "jsbundle": .javaScript, "bundle": .javaScript, "dart": .dart,
        "py": .python, "json": .json, "json5": .json, "jsonc": .json, "arb": .json, "resolved": .json, "yaml": .yaml,
        "yml": .yaml, "xml": .xml, "plist": .xml, "entitlements": .xml, "html": .xml, "htm": .xml,
        "storyboard": .xml, "xib": .xml, "gradle": .groovy, "groovy": .groovy, "toml": .toml, "rb": .ruby,
        "podspec": .ruby, "properties": .properties, "xcconfig": .properties, "ini": .properties, "env": .properties,
        "cfg": .properties, "pbxproj": .openStep, "strings": .openStep, "md": .document, "markdown": .document,
        "mdx": .document, "rst": .document, "txt": .document, "adoc": .document, "dex": .binary, "so": .binary,
        "dylib": .binary, "arsc": .binary, "hbc": .binary, "class": .binary, "pb": .binary,
    ]
}
