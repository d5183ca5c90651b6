internal import Cryptography
internal import Encoding
internal import SettingsReader

/// The files of certificates and keys that TLS takes, looked at while the settings are read: what is wrong with them is
/// told together with all else.
extension SettingsNode {
    /// The bytes of the PEM file of certificates that this node names; nil after a fault.
    func readCertificates() -> [UInt8]? {
        guard let bytes = readFile() else { return nil }
        switch PEMFile.certificates(in: bytes) {
        case nil: error("a certificate in the file is cut off or malformed")
        case 0?: error("the file holds no certificate in PEM")
        default: return bytes
        }
        return nil
    }

    /// The certificates of the PEM file that this node names, ready to verify with; nil after a fault.
    func readTrustedCertificates() -> TrustedCertificates? {
        guard let bytes = readCertificates() else { return nil }
        guard let certificates = try? TrustedCertificates(pem: bytes) else {
            error("the file's certificates cannot be used")
            return nil
        }
        return certificates
    }

    /// The private key that this node names; nil after a fault.
    ///
    /// - Parameter chain: whose first certificate the key is to be for; nil where that file is faulty itself.
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
