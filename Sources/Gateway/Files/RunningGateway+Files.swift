internal import Admin
internal import Clocks
internal import Cryptography
internal import Logging
internal import Settings
internal import SettingsReader

/// Certificates, keys, key sets and secrets are updated from their files without a reload.
extension RunningGateway {
    /// The time between checks of the files. A change is used after two checks that find the same version.
    static let timeBetweenLooks = Duration.seconds(1)

    /// Checks the files that the settings name, and uses the changed ones. A group of files that cannot be used is
    /// rejected as a whole, independently of other groups. The settings file is not read again.
    func followFiles() async {
        guard !isDraining else { return }
        let due = fileWatch.due(snapshot.settings.files.groups) { FileVersion(of: $0) }
        if !due.isEmpty { await judge(due) }
        let news = filesKeptOut.endLook()
        for group in news { reportKeptOut(group.keys, group.errors) }
        status.filesKeptOut(filesKeptOut.reported, refused: news.count)
    }

    /// Resets the file watch after the settings have changed.
    func watchFilesAnew() {
        fileWatch = FileWatch()
        filesKeptOut.removeAll()
    }

    private func judge(_ groups: [NamedFiles.Group]) async {
        var settings = snapshot.settings
        var usable: [NamedFiles.Group] = []
        for group in groups {
            do {
                if let next = try self.settings(settings, with: group) {
                    settings = next
                    usable.append(group)
                } else {
                    filesKeptOut.letIn(group)
                }
            } catch {
                filesKeptOut.keepOut(group, ReloadErrors.lines(of: error))
            }
        }
        if !usable.isEmpty { await use(usable, by: settings) }
    }

    /// Returns the settings with the group's new contents.
    ///
    /// - Returns: nil if the contents have not changed.
    /// - Throws: an error if the contents are invalid or can be used only after a restart.
    private func settings(_ settings: GatewaySettings, with group: NamedFiles.Group) throws -> GatewaySettings? {
        var changed: [String: Result<Secret, FileReadFailure>] = [:]
        for path in group.paths {
            let contents = Result { () throws(FileReadFailure) in Secret(try readWholeFile(path)) }
            if case .success(let same) = contents, settings.files.contents[path] == same { continue }
            changed[path] = contents
        }
        guard !changed.isEmpty else { return nil }
        let next = try settings.reread(environment: environment, with: changed)
        let fixed = RestartSettings.changes(from: snapshot.settings, to: next)
        guard fixed.isEmpty else { throw ReloadErrors(fixed) }
        _ = try Wiring.fitted(next, issuers: next.trustedIssuers, knownTLS: snapshot.knownTLS)
        return next
    }

    private func use(_ groups: [NamedFiles.Group], by settings: GatewaySettings) async {
        do {
            let changes = try await takeOver(settings)
            for change in changes.differences { logger.info("configuration change", metadata: ["change": "\(change)"]) }
            logger.info("changed files are in use", metadata: changes.metadata)
            for group in groups { filesKeptOut.letIn(group) }
            status.filesFollowed(groups.count, now: WallClock.seconds(), changesSecrets: !changes.secrets.isEmpty)
            warn()
        } catch is Draining {
            return
        } catch {
            // The cause may be temporary, such as an unreachable database.
            for group in groups {
                filesKeptOut.keepOut(group, ReloadErrors.lines(of: error))
                fileWatch.forget(group)
            }
        }
    }

    private func reportKeptOut(_ keys: [String], _ errors: [String]) {
        for error in errors { logger.error("configuration error", metadata: ["fault": "\(error)"]) }
        logger.error(
            "changed files not used; their earlier contents stay in use",
            metadata: ["files": "\(keys.joined(separator: " "))", "faults": .stringConvertible(errors.count)])
    }
}
