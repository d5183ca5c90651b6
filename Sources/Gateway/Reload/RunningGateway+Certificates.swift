internal import ACME
internal import Admin
internal import Logging

/// Certificates that are obtained at run time are used without a reload.
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
            // The next check tries again: the cause may be temporary, such as an unreachable database.
            logger.error("obtained certificates not used", metadata: ["error": "\(error)"])
        }
    }
}
