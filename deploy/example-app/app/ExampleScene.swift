#if canImport(SwiftUI)
    import AuthenticationServices
    public import GatehouseClient
    public import SwiftUI

    /// The app: the sign-in screen while nobody is signed in, and the list else. The main file of a target is
    ///
    ///     @main
    ///     struct Main: App {
    ///         private let gatehouse = Gatehouse(url: URL(string: "https://api.example.com")!)
    ///         var body: some Scene { ExampleScene(gatehouse) }
    ///     }
    @available(iOS 17, macOS 14, visionOS 1, *)
    @MainActor
    public struct ExampleScene: Scene {
        private let gatehouse: Gatehouse
        @State private var session: SessionModel

        public init(_ gatehouse: Gatehouse) {
            self.gatehouse = gatehouse
            _session = State(initialValue: SessionModel(gatehouse))
        }

        public var body: some Scene {
            WindowGroup {
                switch session.state {
                case .restoring: ProgressView()
                case .locked: Text("Unlock the device first.")
                case .signedIn: ItemsView(model: ItemsModel(gatehouse))
                case .signedOut: SignInView(model: SignInModel(gatehouse), apple: AppleButton(gatehouse))
                }
            }
        }
    }

    @available(iOS 17, macOS 14, visionOS 1, *)
    struct SignInView: View {
        @State var model: SignInModel
        @State var apple: AppleButton

        var body: some View {
            Form {
                if model.challenge == nil {
                    TextField("E-mail", text: $model.email)
                    SecureField("Password", text: $model.password)
                } else {
                    TextField("Code", text: $model.code)
                }
                Button("Sign in") { Task { await model.signIn() } }.disabled(model.isBusy)
                SignInWithAppleButton(
                    onRequest: { apple.configure($0) },
                    onCompletion: { result in Task { await model.run { try await apple.signIn(result) } } })
                if let message = model.message { Text(message) }
            }
        }
    }

    @available(iOS 17, macOS 14, visionOS 1, *)
    struct ItemsView: View {
        @State var model: ItemsModel

        var body: some View {
            List {
                if let message = model.message { Text(message) }
                ForEach(model.items) { Text($0.name) }
                Button("Sign out") { Task { await model.signOut() } }
            }
            .task { await model.load() }
            .refreshable { await model.load() }
        }
    }
#endif
