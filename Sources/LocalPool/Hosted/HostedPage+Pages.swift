internal import Encoding

/// The pages.
extension HostedPage {
    static func signIn(_ request: AuthorizationRequest, _ pool: UserPool, note: String? = nil) -> HostedPage {
        let providers = AuthorizationRequest.providers(of: pool, request.settings)
        var page = HostedPage(title: "Sign in", note: note)
        if request.allowsOwnUsers {
            page.action = "/login"
            page.fields = [.email(request.loginHint ?? ""), .password()]
            page.buttons = [("sign-in", "Sign in")]
        }
        for provider in providers {
            let path = "/oauth2/authorize/\(provider.name)"
            page.links.append((path, "Sign in with \(provider.name)"))
        }
        if request.allowsOwnUsers {
            page.links += [("/forgotPassword", "Forgot your password?"), ("/signup", "Create an account")]
        }
        return page
    }

    static func signUp(note: String? = nil, email: String = "") -> HostedPage {
        HostedPage(
            title: "Create an account", note: note, action: "/signup",
            fields: [.email(email), .password("Password", isNew: true)], buttons: [("sign-up", "Create account")],
            links: [("/login", "Sign in")])
    }

    static func confirm(_ email: String, note: String? = nil) -> HostedPage {
        HostedPage(
            title: "Confirm your address", note: note ?? "A code was sent to \(email).", action: "/confirmUser",
            fields: [.code], hidden: [("username", email)], buttons: [("confirm", "Confirm")],
            links: [("/login", "Sign in")])
    }

    static func forgotPassword(note: String? = nil) -> HostedPage {
        HostedPage(
            title: "Reset your password", note: note, action: "/forgotPassword", fields: [.email()],
            buttons: [("send", "Send a code")], links: [("/login", "Sign in")])
    }

    static func resetPassword(_ email: String, note: String? = nil) -> HostedPage {
        HostedPage(
            title: "Choose a new password", note: note ?? "A code was sent if the address has an account.",
            action: "/confirmForgotPassword", fields: [.code, .password("New password", isNew: true)],
            hidden: [("username", email)], buttons: [("reset", "Change password")], links: [("/login", "Sign in")])
    }

    /// The page for a challenge; nil if the challenge has none.
    static func challenge(_ answer: JSONObject, note: String? = nil) -> HostedPage? {
        guard let name = answer["ChallengeName"]?.stringValue, let session = answer["Session"]?.stringValue,
            let username = answer["ChallengeParameters"]?["USER_ID_FOR_SRP"]?.stringValue
        else { return nil }
        var page = HostedPage(title: "Confirm that it is you", note: note, action: "/mfa")
        page.hidden = [("challenge", name), ("session", session), ("username", username)]
        page.buttons = [("continue", "Continue")]
        switch name {
        case "SMS_MFA", "EMAIL_OTP", "SOFTWARE_TOKEN_MFA": page.fields = [.code]
        case "NEW_PASSWORD_REQUIRED": page.fields = [.password("New password", isNew: true)]
        case "SELECT_MFA_TYPE":
            page.fields = [Field(name: "code", label: "SMS_MFA, EMAIL_OTP or SOFTWARE_TOKEN_MFA")]
        default: return nil
        }
        return page
    }

    /// The page of a simulated identity provider, where users enter who they are.
    static func provider(_ name: String, note: String? = nil) -> HostedPage {
        HostedPage(
            title: "\(name) (played by the local pool)", note: note ?? "Say who you are.",
            action: "/oauth2/authorize/\(name)",
            fields: [
                Field(name: "user_id", label: "The user's id at \(name)"),
                Field(name: "email", label: "E-mail address", type: "email"),
                Field(name: "name", label: "Name", isRequired: false),
            ],
            buttons: [
                ("verified", "Sign in"), ("unverified", "Sign in with an unverified address"), ("cancel", "Cancel"),
            ])
    }

    static func failure(_ text: String) -> HostedPage { HostedPage(title: "An error was encountered", note: text) }
}
