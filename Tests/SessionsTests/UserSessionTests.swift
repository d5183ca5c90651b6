import ClockSteps
import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Store
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

@Suite("Sessions of the gateway's own")
struct UserSessionTests {
    @Test("A token says who the user is, is verified by the gateway's profile, and lives for its lifetime")
    func token() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin(device: DeviceInfo(deviceID: "phone-7", platform: "ios"))
        #expect(begun.isNew)
        let token = try #require(fixture.verify(begun.token))
        #expect(token.subject == begun.user.id)
        #expect(token.tokenUse == .session)
        #expect(token.clientID == "api")
        #expect(token.email == "ada@example.com" && token.emailVerified == true)
        #expect(token.groups == ["customer"])
        #expect(token.claims["role"] == "customer")
        #expect(token.claims["name"] == "Ada")
        #expect(token.expires == SessionFixture.start + 30 * 86_400)
        #expect(token.claims["auth_time"] == .number(JSONNumber(SessionFixture.start)))
        let header = try #require(UnverifiedToken(begun.token.expose())?.header)
        #expect(header["typ"] == "session+jwt" && header["alg"] == "ES256")
        #expect(header["kid"] == fixture.keys.signing.map { .string($0.id) })
        fixture.pass(30 * 86_400 + 60)
        #expect(fixture.verify(begun.token) == nil)
    }

    @Test("Nothing but a session passes for one, and a session for nothing else")
    func otherTokens() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        let cognito = Issuer.cognito(
            name: "pool", region: "eu-west-1", userPoolID: "eu-west-1_A", clientIDs: ["api"],
            issuer: SessionFixture.issuer)
        let asCognito = TokenVerifier(issuers: [cognito]).verify(
            begun.token.expose(), accepting: TokenAcceptance(tokenUses: [.access, .id, .session]),
            keys: { _ in fixture.keys.keySet }, now: fixture.now)
        guard case .rejected = asCognito else { return #expect(Bool(false), "\(asCognito)") }
        // A token of the same key and claims with another type.
        let claims = try #require(UnverifiedToken(begun.token.expose())?.payload?.objectValue)
        let key = try #require(fixture.keys.signing)
        for type in ["JWT", "at+jwt", Assertion.type, WebhookEvent.type] {
            let other = Secret(try key.token(of: claims, type: type))
            #expect(fixture.verify(other) == nil, "\(type)")
            let answer = try await fixture.refresh(other)
            #expect(answer.status == .unauthorized && answer.reason?.code == "type-not-allowed", "\(type)")
        }
    }

    @Test("The answer to validate is what the token says, and a failure says that it is none")
    func validate() async throws {
        let fixture = try SessionFixture()
        let begun = try await fixture.begin()
        let answer = try await fixture.endpoints().answer(fixture.request(.sessionValidate, begun.token))
        #expect(answer.status == .ok)
        #expect(
            answer.json == [
                "success": true,
                "user": [
                    "id": .string(begun.user.id), "name": "Ada", "email": "ada@example.com", "phoneNumber": .null,
                    "role": "customer",
                ],
            ])
        let refused = try await fixture.endpoints().answer(fixture.request(.sessionValidate, nil))
        #expect(refused.status == .unauthorized)
        #expect(refused.json["success"] == false)
        #expect(refused.json["error"] == "NotAuthorizedException")
        #expect(refused.headers[.wwwAuthenticate] == "Bearer")
    }

    @Test("One user for each issuer and subject, whatever the e-mail address; an address that changes is followed")
    func users() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin()
        var again = SessionFixture.user()
        (again.email, again.emailVerified, again.name, again.isPrivateEmail) = ("b@example.com", false, "Eve", true)
        let second = try await fixture.begin(again)
        #expect(!second.isNew && second.user.id == first.user.id)
        #expect(second.user.email == "b@example.com" && !second.user.emailVerified && second.user.isPrivateEmail)
        #expect(second.user.name == "Ada", "a name is taken once")
        again.email = nil
        #expect(try await fixture.begin(again).user.email == "b@example.com", "who says none keeps it")
        let other = try await fixture.begin(SessionFixture.user("apple-ben"))
        #expect(other.isNew && other.user.id != first.user.id, "the same address is no link")
        #expect(try await fixture.users.user(first.user.id) == second.user)
    }

    @Test("A user without a role takes the app's, and an app without one lets every user keep theirs")
    func roles() async throws {
        let fixture = try SessionFixture()
        let first = try await fixture.begin(SessionFixture.user(role: nil))
        #expect(first.user.role == nil && fixture.verify(first.token)?.groups.isEmpty == true)
        let second = try await fixture.begin()
        #expect(second.user.id == first.user.id && second.user.role == "customer")
        #expect(fixture.verify(second.token)?.groups == ["customer"])
        #expect(try await fixture.users.user(first.user.id) == second.user)
        let third = try await fixture.begin(SessionFixture.user(role: nil))
        #expect(third.user.role == "customer" && fixture.verify(third.token)?.groups == ["customer"])
        let refreshed = try #require(try await fixture.refresh(first.token).token)
        #expect(fixture.verify(refreshed)?.groups == ["customer"])
        await #expect(throws: Refusal.self) { _ = try await fixture.begin(SessionFixture.user(role: "driver")) }
        let users = UserAdministration(try fixture.sessions(), roles: ["customer", "driver"])
        #expect(try await users.setRole(nil, of: first.user.id, requestID: "r") == 3)
        fixture.pass(1)
        let driver = try await fixture.begin(SessionFixture.user(role: "driver"))
        #expect(!driver.isNew && fixture.verify(driver.token)?.groups == ["driver"])
    }

    @Test(
        "What a sign-in is proven by counts once, with its nonce, and before anything else is done",
        arguments: ClockSteps.allCases)
    func proof(steps: ClockSteps) async throws {
        let fixture = try SessionFixture()
        let digest = [UInt8](repeating: 1, count: 32)
        let nonce = [UInt8](repeating: 2, count: 32)
        func signIn(_ digest: [UInt8], nonce: [UInt8]? = nil, role: String = "customer") async throws -> String {
            do throws(Refusal) {
                let proof = UserSignIn.Proof(
                    digest: digest, endsAt: fixture.now + 600,
                    nonce: nonce.map { UserSignIn.Spent(digest: $0, endsAt: fixture.now + 60) })
                let sessions = try? fixture.sessions()
                let signIn = UserSessions.SignIn(
                    proof: proof, user: SessionFixture.user(role: role),
                    roleConflict: RoleConflictMessages(
                        "Use another app.", byRole: ["customer": "Use the other app."]))
                _ = try await sessions?.begin(signIn, requestID: "r")
                return "begun"
            } catch {
                return "\(error.error.status.code) \(error.reason.code) \(error.message)"
            }
        }
        let unproven = "The sign-in with Apple could not be verified."
        #expect(try await signIn(digest, nonce: nonce) == "begun")
        try await fixture.take(steps) { () async throws in
            #expect(try await signIn(digest) == "401 identity-token-replayed \(unproven)")
        }
        #expect(try await signIn(digest) == "401 identity-token-replayed \(unproven)")
        let other = [UInt8](repeating: 3, count: 32)
        #expect(try await signIn(other, nonce: nonce) == "401 nonce-reused \(unproven)", "a nonce comes back once")
        #expect(try await signIn(other) == "begun", "what was refused was not used up")
        let conflict = "409 role-conflict Use the other app."
        #expect(try await signIn([UInt8](repeating: 4, count: 32), role: "driver") == conflict)
        #expect(try await fixture.users.users(matching: nil, after: "", limit: 9).count == 1)
    }

    @Test("What is used up for a backend is used up as a sign-in's, all of it or nothing")
    func spending() async throws {
        let users = try SessionFixture().users
        let now = SessionFixture.start
        func proof(_ token: UInt8, _ nonce: UInt8?) -> UserSignIn.Proof {
            UserSignIn.Proof(
                digest: [token], endsAt: now + 60,
                nonce: nonce.map { UserSignIn.Spent(digest: [$0], endsAt: now + 60) })
        }
        #expect(try await users.spend(proof(1, 11), now: now) == .spent)
        #expect(try await users.spend(proof(1, 12), now: now) == .replayed)
        #expect(try await users.spend(proof(2, 11), now: now) == .nonceReused)
        let (isTokenSpent, isNonceSpent) = try await (users.isSpent([2]), users.isSpent([12]))
        #expect(!isTokenSpent && !isNonceSpent)
        #expect(try await users.spend(proof(2, 12), now: now) == .spent)
        // Proofs that have ended are removed with later ones.
        #expect(try await users.spend([9], until: now + 120, now: now + 60))
        #expect(try await !users.isSpent([1]))
    }

    @Test("Without a key nothing is used up, and the client may try again")
    func noKeys() async throws {
        let fixture = try SessionFixture()
        var keys = fixture.keys
        (keys.signing, keys.keySet) = (nil, nil)
        let sessions = UserSessions(
            issuer: SessionFixture.gatehouse, settings: fixture.settings, users: fixture.users,
            records: fixture.users, keys: keys, sealingKeys: try Fixture.ring(), revocations: fixture.revocations,
            now: { fixture.now }, random: { [UInt8](repeating: 1, count: $0) }, logger: fixture.log.logger)
        let signIn = UserSessions.SignIn(user: SessionFixture.user())
        do throws(Refusal) {
            _ = try await sessions.begin(signIn, requestID: "r")
            #expect(Bool(false))
        } catch {
            #expect(error.error == .serviceUnavailable && error.reason.code == "session-keys-unavailable")
        }
        #expect(try await fixture.users.users(matching: nil, after: "", limit: 9).isEmpty)
        do throws(Refusal) {
            _ = try sessions.judge(try? await fixture.begin().token)
            #expect(Bool(false))
        } catch {
            #expect(error.error == .serviceUnavailable)
        }
    }
}
