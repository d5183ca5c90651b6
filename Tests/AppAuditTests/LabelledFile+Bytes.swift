import Foundation

extension LabelledFile {
    private var strings: [[UInt8]] { text.split(separator: "\n").map { Array($0.utf8) } }

    /// The file as it is in an app.
    func bytes() throws -> [UInt8] {
        switch form {
        case .text: return Array(text.utf8)
        case .machO: return [0xCF, 0xFA, 0xED, 0xFE, 0] + strings.flatMap { $0 + [0] }
        case .elf: return [0x7F, 0x45, 0x4C, 0x46, 0] + strings.flatMap { $0 + [0] }
        case .dex: return Array("dex\n035\0".utf8) + strings.flatMap { [UInt8($0.count)] + $0 + [0] }
        case .hermes: return [0xC6, 0x1F, 0xBC, 0x03, 0xC1, 0x03, 0x19, 0x1F] + strings.flatMap { $0 }
        case .utf16: return [0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        case .binaryPropertyList:
            let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
            return Array(try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
        }
    }

    /// The archive of a document's files, with its labels as an audit of it finds them.
    static func archive(of document: URL) throws -> (name: String, bytes: [UInt8], files: [LabelledFile]) {
        let name = document.deletingPathExtension().lastPathComponent
        let files = try files(of: document)
        var archive = ZipBuilder()
        archive.entries = try files.map { file in
            let entry = ZipBuilder.Entry(file.path, try file.bytes())
            return file.path.utf8.count.isMultiple(of: 2) ? entry : entry.inBlocks()
        }
        return (name, archive.bytes, files)
    }

    /// The labels of a file inside an archive.
    func labels(in archive: String) -> [Label] {
        labels.map { Label(path: "\(archive)!/\($0.path)", line: $0.line, rule: $0.rule, isNote: $0.isNote) }
    }
}
