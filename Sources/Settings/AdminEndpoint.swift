package import SettingsReader

/// The address of the admin listener for programs on the same machine, and the certificates by which they verify it.
package struct AdminEndpoint: Sendable {
    package var address: HostAndPort
    /// The certificate chains that the listener presents, in PEM; nil: it uses plain text.
    package var chains: [[UInt8]]?

    package init(address: HostAndPort, chains: [[UInt8]]? = nil) {
        self.address = address
        self.chains = chains
    }

    /// Reads only the admin listener's address and certificates from the settings file at `path`, whatever else the
    /// file says. It reads no other files than certificates, which are not secret.
    ///
    /// - Parameters: those of ``GatewaySettings/load(path:environment:readFile:)``.
    /// - Throws: ``SettingsErrors`` if the file can't be read or is not YAML, or if the address or a certificate is
    ///   invalid.
    package static func read(
        path: String, environment: [String: String], readFile: @escaping (String) throws(FileReadFailure) -> [UInt8]
    ) throws(SettingsErrors) -> Self {
        let reading = try SettingsReading(path: path, environment: environment, readFile: readFile)
        let admin = reading.root.section { file in file.optional("admin")?.section(Self.init(reading:)) }
        // Other keys are not requested and would count as unknown here.
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
    /// Whether an error concerns `admin.tls`, so that the admin listener is configured for TLS.
    package var concernAdminTLS: Bool { errors.contains { $0.keyPath.hasPrefix("admin.tls") } }
}
