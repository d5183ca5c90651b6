internal import Encoding
internal import FoundationEssentials
internal import Glibc

/// The owner and modes of a state directory and of the gateway's files in it.
///
/// Whoever can write there can put a key set, a key or a database of their own in place, and so sign in as anybody. The
/// directories above it count only so far as what is put in its place is judged the same: it must belong to the user
/// that the process runs as, or to root.
package struct StateDirectory {
    let path: String

    package init(path: String) {
        self.path = path
    }

    // MARK: Making

    /// Makes it, for its owner only, where it is missing, and then judges it as ``check()`` does. No moment passes in
    /// which others could write to it, whatever the umask.
    ///
    /// - Throws: ``KeyFileError``
    package func make() throws(KeyFileError) {
        guard Self.make(path, 0o700) else { throw KeyFileError(path, failed: "cannot be made") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw KeyFileError(path, failed: "cannot be read") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw KeyFileError(path, "cannot be made: it is a file") }
        if let error = error(status) { throw error }
    }

    /// - Returns: false with `errno` set; what is there already is good.
    private static func make(_ path: String, _ mode: mode_t) -> Bool {
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return true }
        // A slash at the end is not the name of a directory within.
        let name = path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
        let parent = name[..<(name.lastIndex(of: "/") ?? name.startIndex)]
        guard errno == ENOENT, !parent.isEmpty, make(String(parent), 0o755) else { return false }
        return unsafe mkdir(path, mode) == 0 || errno == EEXIST
    }

    /// Gives a file that was made in it to its owner: what root makes must not keep the gateway, under its own user, from
    /// reading it.
    func giveToOwner(_ descriptor: CInt) {
        var status = stat()
        guard geteuid() == 0, unsafe stat(path, &status) == 0 else { return }
        fchown(descriptor, status.st_uid, status.st_gid)
    }

    // MARK: Syncing

    /// Returns when the names in it outlast a loss of power.
    package func sync() throws(KeyFileError) {
        let descriptor = unsafe open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw KeyFileError(path, failed: "cannot be opened") }
        defer { close(descriptor) }
        // Some file systems know no such thing (fsync(2): EINVAL).
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw KeyFileError(path, failed: "cannot be written") }
    }

    // MARK: Judging

    /// Judges the directory and every file of the gateway's in it. One that is not there is good.
    ///
    /// - Throws: ``KeyFileError`` with every file that others may change, or read though it is secret.
    package func check() throws(KeyFileError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw KeyFileError(path, failed: "cannot be read")
        }
        // A file in its place is reported where it is opened.
        guard status.st_mode & S_IFMT == S_IFDIR else { return }
        if let error = error(status) { throw error }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw KeyFileError(path, "cannot be read: \(error)")
        }
        let errors = names.filter(Self.isOwn).sorted().compactMap { error(ofFile: $0, ownerOfDirectory: status.st_uid) }
        if let first = errors.first { throw KeyFileError(all: errors, first) }
    }

    /// Why the file of this name is not to be trusted; nil for one that is well, or not there.
    package func error(ofFile name: String) -> KeyFileError? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return error(ofFile: name, ownerOfDirectory: status.st_uid)
    }

    private func error(_ status: stat) -> KeyFileError? {
        let user = geteuid()
        // Files that root makes are handed to the directory's owner, whoever that is.
        guard status.st_uid == user || status.st_uid == 0 || user == 0 else {
            return KeyFileError(path, "belongs to user \(status.st_uid), and this runs as user \(user)")
        }
        guard status.st_mode & 0o022 == 0 else {
            return KeyFileError(
                path,
                "others than its owner may write to it (mode \(Self.text(status.st_mode))); if nobody has: chmod 700 \(path)"
            )
        }
        return nil
    }

    private func error(ofFile name: String, ownerOfDirectory: uid_t) -> KeyFileError? {
        let file = "\(path)/\(name)"
        var status = stat()
        guard unsafe stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        guard [geteuid(), 0, ownerOfDirectory].contains(status.st_uid) else {
            return KeyFileError(file, "belongs to user \(status.st_uid), who is not the directory's owner")
        }
        let isSecret = !name.hasPrefix(Self.keySetPrefix)
        // One that was put away under such a name is opened by nobody.
        guard !Self.isOpened(name) || status.st_uid != 0 || geteuid() == 0 else {
            return KeyFileError(
                file, "belongs to root, and this runs as user \(geteuid()): chown \(geteuid()) \(file)")
        }
        return Self.error(ofFile: file, status.st_mode, isSecret: isSecret)
    }

    /// - Parameter isSecret: whether others may not read it either.
    static func error(ofFile path: String, _ mode: mode_t, isSecret: Bool) -> KeyFileError? {
        guard mode & (isSecret ? 0o077 : 0o022) != 0 else { return nil }
        let what = isSecret ? "read or change" : "change"
        return KeyFileError(
            path, "others than its owner may \(what) it (mode \(text(mode))); if nobody has: chmod 600 \(path)")
    }

    private static func text(_ mode: mode_t) -> String { String(mode & 0o777, radix: 8) }

    // MARK: Contents

    /// Begins the names of key sets that were fetched: public, so others may read them, and earlier versions let them.
    package static let keySetPrefix = "key-set-"

    /// The file with the account and the certificates of ACME.
    package static let acmeFileName = "acme.json"

    /// Whether the gateway reads or writes a file of this name, or has put one away under it. An operator's own notes
    /// are nobody's matter.
    private static func isOwn(_ name: String) -> Bool {
        name.hasPrefix(keySetPrefix) || name.hasPrefix(GatewayStore.name)
            || name.hasPrefix(acmeFileName)
            || KeyPurpose.allCases.flatMap(\.fileNames).contains { name.hasPrefix($0) }
    }

    /// Whether the gateway cannot do without opening a file of this name, where it is there.
    private static func isOpened(_ name: String) -> Bool {
        let names = [GatewayStore.name, acmeFileName] + KeyPurpose.allCases.flatMap(\.fileNames)
        return names.contains { own in
            ["", "-wal", "-shm", ".lock", ".schema.lock", ".orders.lock", ".gateways.lock"].contains {
                name.hasSameBytes(as: own + $0)
            }
        }
    }
}
