import Foundation
import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A command line that calls an API behind Gatehouse, and stays signed in from one run to the next.
///
///     client-sample URL STORE PATH [--refresh]
///
/// STORE is the file of the session. The first run signs in with the e-mail address and the password in the environment
/// (EMAIL, PASSWORD). Each run sends one call and prints its response. With `--refresh` an access token counts as ending
/// soon, so that the client refreshes it by itself before the call.
@main
struct ClientSample {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst().filter { $0 != "--refresh" }
        guard arguments.count == 3, let url = URL(string: arguments[0]) else {
            print("usage: client-sample URL STORE PATH [--refresh]")
            exit(64)
        }
        do {
            try await run(url, store: URL(fileURLWithPath: arguments[1]), path: arguments[2])
        } catch {
            print("error: \(error.localizedDescription)")
            exit(1)
        }
    }

    static func run(_ url: URL, store: URL, path: String) async throws {
        var configuration = Configuration(url: url)
        if CommandLine.arguments.contains("--refresh") { configuration.refreshLead = 7 * 24 * 3600 }
        let gatehouse = Gatehouse(configuration, store: FileStore(store))
        switch await gatehouse.restore() {
        case .signedIn(let user, _):
            print("still signed in as \(user.email ?? user.id)")
        default:
            let environment = ProcessInfo.processInfo.environment
            let step = try await gatehouse.signIn(
                .email(environment["EMAIL"] ?? ""), password: environment["PASSWORD"])
            guard let user = step.user else { return print("the pool asks for one more step") }
            print("signed in as \(user.email ?? user.id)")
        }
        let (data, response) = try await gatehouse.data(path)
        print(response.statusCode, String(decoding: data, as: UTF8.self))
    }
}
