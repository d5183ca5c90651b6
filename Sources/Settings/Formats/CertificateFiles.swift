internal import Cryptography
internal import Encoding
internal import SettingsReader

/// Readers of certificate and key files for TLS. They check the files while the settings are read, so that all errors
/// are reported together.
extension SettingsNode {
    /// The bytes of the PEM file of certificates that this node names; nil after an error.
    func readCertificates() -> [UInt8]? {
        guard let bytes = readFile() else { return nil }
        switch PEMFile.certificates(in: bytes) {
        case nil: error("a certificate in the file is cut off or malformed")
        case 0?: error("the file holds no certificate in PEM")
        default: return bytes
        }
        return nil
    }

    /// The certificates of the PEM file that this node names, for verification; nil after an error.
    func readTrustedCertificates() -> TrustedCertificates? {
        guard let bytes = readCertificates() else { return nil }
        guard let certificates = try? TrustedCertificates(pem: bytes) else {
            error("the file's certificates cannot be used")
            return nil
        }
        return certificates
    }

    /// The private key that this node names; nil after an error.
    ///
    /// - Parameter chain: the key must belong to its first certificate; nil if the chain's file is invalid itself.
    func readPrivateKey(of chain: [UInt8]?) -> Secret? {
        guard let key = readFile(isSecret: true).map({ Secret($0) }) else { return nil }
        switch PEMFile.isKey(key, of: chain ?? []) {
        case nil: error("the file holds no private key in PEM without a passphrase")
        case false? where chain != nil: error("the key is not the certificate's")
        default: return key
        }
        return nil
    }
}
