/// The descriptions of all keys, from the reference Config/gatehouse.yaml, by schema path.
///
/// The file `key-descriptions.txt` is generated from the reference (see Tests/EndToEnd/test_schema.py): each path is a
/// line, followed by text lines that begin with two spaces.
enum KeyDescriptions {
    static let all: [String: String] = {
        var (all, path) = ([String: String](), "")
        for line in String(decoding: PackageResources.key_descriptions_txt, as: UTF8.self).split(separator: "\n") {
            if line.first == " " {
                all[path] = (all[path].map { $0 + " " } ?? "") + line.dropFirst(2)
            } else {
                path = String(line)
            }
        }
        return all
    }()
}
