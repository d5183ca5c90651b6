/// The descriptions of all keys in the reference, Config/gatehouse.yaml, by schema path.
///
/// They are in `key-descriptions.txt`, which is generated from the reference (see Tests/EndToEnd/test_schema.py): a
/// line with the path, and lines with the text behind two spaces.
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
