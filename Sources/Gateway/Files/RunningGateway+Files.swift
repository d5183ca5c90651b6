internal import Admin
internal import Clocks
internal import Cryptography
internal import Logging
internal import Settings
internal import SettingsReader

/// Certificates, keys, key sets and secrets follow the files that the settings name, without a reload.
extension RunningGateway {
    /// How often the files are looked at. Two looks find a change that has come to rest.
    static let timeBetweenLooks = Duration.seconds(1)

    /// Looks at the files that the settings name, and uses what has changed. A group of files that cannot be used is
    /// kept out as a whole, for itself. The settings file is not read again.
    func followFiles() async {
        guard !isDraining else { return }
        let due = fileWatch.due(snapshot.settings.files.groups) { FileVersion(of: $0) }
        if !due.isEmpty { await judge(due) }
        let news = filesKeptOut.endLook()
        for group in news { reportKeptOut(group.keys, group.errors) }
        status.filesKeptOut(filesKeptOut.reported, refused: news.count)
    }

    /// The files belong to other settings than before.
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

    /// - Returns: nil where the files hold what they did before.
    /// - Throws: what is wrong with the contents, or why they cannot be used without a restart.
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
            // It may be something else that passes, such as a database that is away.
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
