package import Cryptography

/// The files that one reading of the settings has read, with their contents: the settings file and those that it names.
package struct NamedFiles: Sendable {
    /// Files that are replaced together: those that one section names, such as a certificate and its key, merged with
    /// those of any other section that shares one of them.
    package struct Group: Sendable, Equatable {
        package fileprivate(set) var paths: Set<String>
        /// The keys that name the files, in the order of the settings.
        package fileprivate(set) var keys: [String]
    }

    /// The contents by path, including the settings file.
    package private(set) var contents: [String: Secret] = [:]
    private var groupsOfSections: [(section: String, group: Group)] = []

    package init() {}

    mutating func noteSettings(_ bytes: [UInt8], at path: String) {
        contents[path] = Secret(bytes)
    }

    mutating func note(_ bytes: [UInt8], at path: String, namedAt place: SettingsPlace) {
        contents[path] = Secret(bytes)
        let key = place.namedPath
        let section = String(key.lastIndex(of: ".").map { key[..<$0] } ?? "")
        if let known = groupsOfSections.firstIndex(where: { $0.section == section }) {
            groupsOfSections[known].group.paths.insert(path)
            groupsOfSections[known].group.keys.append(key)
        } else {
            groupsOfSections.append((section, Group(paths: [path], keys: [key])))
        }
    }

    /// The groups of files; they are disjoint.
    package var groups: [Group] {
        groupsOfSections.reduce(into: []) { groups, next in
            var merged = next.group
            groups.removeAll { other in
                guard !other.paths.isDisjoint(with: merged.paths) else { return false }
                merged.paths.formUnion(other.paths)
                merged.keys = other.keys + merged.keys
                return true
            }
            groups.append(merged)
        }
    }
}
