package import SettingsReader

/// The admin listener as programs on the same machine reach it, and what they verify it by.
package struct AdminEndpoint: Sendable {
    package var address: HostAndPort
    /// The certificate chains that it presents, in PEM; nil: it speaks plain text.
    package var chains: [[UInt8]]?

    package init(address: HostAndPort, chains: [[UInt8]]? = nil) {
        self.address = address
        self.chains = chains
    }

    /// Reads of the settings file at `path` where it is and what it presents, whatever else the file says. No other file
    /// is read than certificates, which are no secret.
    ///
    /// - Parameters: as of ``GatewaySettings/load(path:environment:readFile:)``.
    /// - Throws: ``SettingsErrors`` where the file can't be read, is no YAML, or the address or a certificate is faulty.
    package static func read(
        path: String, environment: [String: String], readFile: @escaping (String) throws(FileReadFailure) -> [UInt8]
    ) throws(SettingsErrors) -> Self {
        let reading = try SettingsReading(path: path, environment: environment, readFile: readFile)
        let admin = reading.root.section { file in file.optional("admin")?.section(Self.init(reading:)) }
        // Other keys were not asked for, and count as unknown here.
        let errors = reading.context.sortedErrors.filter { Self.reads($0.keyPath) }
        guard errors.isEmpty else { throw SettingsErrors(errors: errors) }
        return (admin ?? nil) ?? Self(address: GatewaySettings.standardAdminAddress)
    }

    private init(reading keys: SettingsMapping) {
        address = keys.optional("address")?.read(.listenAddress) ?? GatewaySettings.standardAdminAddress
        chains = keys.optional("tls").map { node in
            let certificates = node.section { tls in
                tls.required("certificates")?.elements(expected: "certificates") ?? []
            }
            return (certificates ?? []).compactMap { element in
                element.section { $0.required("certificate")?.readCertificates() }.flatMap { $0 }
            }
        }
    }

    private static func reads(_ keyPath: String) -> Bool {
        guard keyPath.hasPrefix("admin.tls.certificates[") else {
            return ["", "admin", "admin.address", "admin.tls", "admin.tls.certificates"].contains(keyPath)
        }
        return keyPath.hasSuffix("]") || keyPath.hasSuffix("].certificate")
    }
}

extension SettingsErrors {
    /// Whether they show that the admin listener is to speak TLS.
    package var concernAdminTLS: Bool { errors.contains { $0.keyPath.hasPrefix("admin.tls") } }
}
