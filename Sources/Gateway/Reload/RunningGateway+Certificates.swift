internal import ACME
internal import Admin
internal import Logging

/// Certificates that were obtained while the gateway runs are served from then on, without a reload.
extension RunningGateway {
    func followCertificates() async {
        guard !isDraining, let service = snapshot.certificateService, service.certificates != snapshot.obtained else {
            return
        }
        do {
            _ = try await takeOver(snapshot.settings)
            logger.info(
                "obtained certificates are in use",
                metadata: ["names": "\(snapshot.obtained.map(\.name).joined(separator: " "))"])
            warn()
        } catch is Draining {
            return
        } catch {
            // The next look tries again: it may be something that passes, such as a database that is away.
            logger.error("obtained certificates not used", metadata: ["error": "\(error)"])
        }
    }
}
