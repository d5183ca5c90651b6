/// An environment variable that the program reads, besides those that the configuration names.
struct EnvironmentVariable {
    let name: String
    let meaning: String

    static let all: [EnvironmentVariable] = [
        Self(
            name: SettingsOrigin.variable,
            meaning: "The text of the configuration. It is used if --config is not given, and must not be empty."),
        Self(name: "NO_COLOR", meaning: "If it is set to any text, output on a terminal has no colours."),
        Self(name: "TERM", meaning: "With dumb, output on a terminal has no colours and no progress line."),
        Self(name: "NOTIFY_SOCKET", meaning: "Socket for notifications to systemd (Type=notify-reload)."),
        Self(name: "AWS_ACCESS_KEY_ID", meaning: "AWS credentials: the key's id. They go before all other sources."),
        Self(name: "AWS_SECRET_ACCESS_KEY", meaning: "AWS credentials: the secret key."),
        Self(name: "AWS_SESSION_TOKEN", meaning: "AWS credentials: the session token of temporary ones."),
        Self(
            name: "AWS_SHARED_CREDENTIALS_FILE",
            meaning: "Path of the shared credentials file. Default: .aws/credentials in the home directory."),
        Self(name: "HOME", meaning: "The home directory, where .aws/credentials is."),
        Self(
            name: "AWS_PROFILE",
            meaning: "Profile in the shared credentials file, which must contain it. Default: default."),
        Self(
            name: "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            meaning: "Path of the credentials at the ECS endpoint. ECS sets it."),
        Self(
            name: "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            meaning: "URL of the credentials of a container. EKS sets it."),
        Self(
            name: "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            meaning: "File with the token for that URL. It goes before the variable with the token itself."),
        Self(name: "AWS_CONTAINER_AUTHORIZATION_TOKEN", meaning: "The token for that URL."),
        Self(name: "AWS_EC2_METADATA_DISABLED", meaning: "With true, the EC2 metadata service is not used."),
        Self(
            name: "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            meaning: "URL of the EC2 metadata service. Default: http://169.254.169.254."),
    ]
}
