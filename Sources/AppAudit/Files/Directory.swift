import Glibc

/// Reads directories and files below one root without following symbolic links.
enum Directory {
    enum Kind: Sendable {
        case file
        case directory
        case other
    }

    struct Entry: Sendable {
        let name: [UInt8]
        let kind: Kind
    }

    /// The entries of a directory, sorted by name; nil if it cannot be read.
    static func entries(of path: [UInt8]) -> [Entry]? {
        let path = path + [0]
        let opened = unsafe path.withUnsafeBytes { buffer in
            unsafe buffer.baseAddress.flatMap { unsafe opendir($0.assumingMemoryBound(to: CChar.self)) }
        }
        guard let stream = unsafe opened else { return nil }
        defer { unsafe closedir(stream) }
        var found: [Entry] = []
        while true {
            // readdir(3) returns nil at the end and on errors; only errors set errno.
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                if errno != 0 { return nil }
                break
            }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe Array($0.prefix { $0 != 0 }) }
            guard name != [UInt8(ascii: ".")], name != Array("..".utf8) else { continue }
            found.append(Entry(name: name, kind: unsafe kind(Int32(entry.pointee.d_type), path.dropLast(), name)))
        }
        return found.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    private static func kind(_ type: Int32, _ directory: [UInt8], _ name: [UInt8]) -> Kind {
        switch type {
        case 8: .file  // DT_REG
        case 4: .directory  // DT_DIR
        case 0: kind(of: directory + [UInt8(ascii: "/")] + name)  // DT_UNKNOWN, on some file systems
        default: .other
        }
    }

    /// The kind of the file at a path; by default, that of a symbolic link itself.
    static func kind(of path: [UInt8], followingLink: Bool = false) -> Kind {
        var status = stat()
        let path = path + [0]
        let result = unsafe path.withUnsafeBytes { buffer -> Int32 in
            guard let start = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self) else { return -1 }
            return followingLink ? unsafe stat(start, &status) : unsafe lstat(start, &status)
        }
        guard result == 0 else { return .other }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .directory
        default: return .other
        }
    }
}
