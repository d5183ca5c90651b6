/// Files for TLS that end in a hundred years.
enum PEM {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCARWgAwIBAgIUY6BvJP38aCectQBz79RFFdyvES0wCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBYTAgFw0yNjExMjEyMjMwMTdaGA8yMTI2MTAyODIyMzAxN1ow
        DDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAGoYWR1cjBK
        RgVzaNF3EUhX3+WAEuifu0B48Rb8hpTREiAqniy9+gBvKXaq8wvBm87ABPOmd3Lj
        p4Uls487aw2jUzBRMB0GA1UdDgQWBBR9CiHFf5HGbXxcwtl6Ke5mDQHiHTAfBgNV
        HSMEGDAWgBR9CiHFf5HGbXxcwtl6Ke5mDQHiHTAPBgNVHRMBAf8EBTADAQH/MAoG
        CCqGSM49BAMCA0cAMEQCIChdnBv0B7PD9dyH4l/t7nN9FEEggW27jfiUc4jY/MDu
        AiAR1pXf3mbbwfXb9ey7GkWrbfdwETAyIGmmOEe+w9BQFw==
        -----END CERTIFICATE-----
        """
    /// The certificate's.
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQkbbpzF5o+Rcp/QY
        TR+9k4tmtTtz0BaXY7o4SyKWUC2hRANCAAQBqGFkdXIwSkYFc2jRdxFIV9/lgBLo
        n7tAePEW/IaU0RIgKp4svfoAbyl2qvMLwZvOwATzpndy46eFJbOPO2sN
        -----END PRIVATE KEY-----
        """
    static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgGwbKYuh8ZhK8fTKgzX5K
        DbwiVlOvfoltK1uVbA0gCQChRANCAASCqaV/SIyDLO/CzRi+AdW88KOLZhWLasQe
        W4tNaUJjTUx+havGK59FYC55cEmZ2u99av7C7GePLp5ZZOQcecS/
        -----END PRIVATE KEY-----
        """
    static let cutOff = certificate + "\n" + certificate.dropLast(200)
}
