package import SettingsReader

extension GatewaySettings {
    /// Reads only the domains of the pools' hosted pages from the settings file at `path`, whatever else it says. No
    /// other file and no secret is read. Amazon's own domains are included if the file names them.
    ///
    /// - Parameters: those of ``load(path:environment:readFile:)``.
    /// - Throws: ``SettingsErrors`` if the file can't be read or is not YAML, or if a domain is invalid.
    package static func hostedDomains(
        path: String, environment: [String: String], readFile: @escaping (String) throws(FileReadFailure) -> [UInt8]
    ) throws(SettingsErrors) -> [String] {
        let reading = try SettingsReading(path: path, environment: environment, readFile: readFile)
        let domains = reading.root.section { file in listed(in: file) + pools(in: file).compactMap(hostedDomain) }
        let errors = reading.context.sortedErrors.filter { isAboutDomains($0.keyPath) }
        guard errors.isEmpty else { throw SettingsErrors(errors: errors) }
        return domains ?? []
    }

    private static func listed(in file: SettingsMapping) -> [String] {
        // A single value is the mode alone.
        guard let node = file.optional("direct_cognito"), !node.isScalar else { return [] }
        let domains = node.section { keys in keys.list("hosted_domains", .domain, of: "domain names") ?? [] }
        return domains ?? []
    }

    private static func pools(in file: SettingsMapping) -> [SettingsNode] {
        let pools = file.optional("sign_in")?.section { keys in
            let more = keys.optional("more_pools")?.elements(expected: "pools like sign_in.cognito") ?? []
            return (keys.optional("cognito").map { [$0] } ?? []) + more
        }
        return pools ?? []
    }

    private static func hostedDomain(_ pool: SettingsNode) -> String? {
        var url: ServiceURL?
        _ = pool.section { keys in
            keys.optional("hosted")?.section { url = $0.optional("domain")?.read(.url) }
        }
        return url?.host
    }

    /// Whether an error is about the domains. Errors of other keys are ignored here.
    private static func isAboutDomains(_ keyPath: String) -> Bool {
        keyPath.isEmpty || keyPath.hasPrefix("direct_cognito.hosted_domains") || keyPath.hasSuffix(".hosted.domain")
    }
}

extension ScalarFormat where Value == String {
    /// A host name without port, converted to lower case.
    package static var domain: Self {
        Self { (text) throws(ScalarRefusal) in
            guard let (host, port) = HostAndPort.split(text[...]), port == nil, host.contains("."), !host.contains(":")
            else { throw ScalarRefusal("must be a domain name like login.example.com") }
            return host
        }
    }
}
