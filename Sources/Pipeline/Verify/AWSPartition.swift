internal import Encoding

/// A group of AWS regions with domains of its own, as AWS's SDKs list them (`partitions.json` of their endpoint rules).
package struct AWSPartition: Sendable {
    /// The prefix of its regions' names; empty for the commercial partition.
    let regionPrefix: String
    /// The domain suffix of a region's services: `cognito-idp.us-east-1.amazonaws.com`.
    package let suffix: String
    /// The domain suffix of the services' names that have IPv6 as well.
    let dualStackSuffix: String

    private init(_ regionPrefix: String, _ suffix: String, _ dualStackSuffix: String) {
        self.regionPrefix = regionPrefix
        self.suffix = suffix
        self.dualStackSuffix = dualStackSuffix
    }

    /// GovCloud (`us-gov-`) has the commercial partition's domains. Partitions with regions that are not public come
    /// last.
    static let all = [
        AWSPartition("", "amazonaws.com", "api.aws"),
        AWSPartition("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
        AWSPartition("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
        AWSPartition("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
        AWSPartition("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
        AWSPartition("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
        AWSPartition("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    ]

    /// Whether a host is Cognito's API in a region, under one of AWS's own names or a VPC endpoint's. Other names with
    /// these suffixes can belong to customers, such as those of buckets and load balancers.
    ///
    /// - Parameter host: in lower case.
    package static func isCognitoAPI(_ host: String, region: String) -> Bool {
        let partition = of(region: region)
        let names = ["cognito-idp", "cognito-idp-fips"].flatMap { name in
            ["\(name).\(region).\(partition.suffix)", "\(name).\(region).\(partition.dualStackSuffix)"]
        }
        return host.isOne(of: names) || host.ends(with: ".cognito-idp.\(region).vpce.\(partition.suffix)")
            || host.ends(with: ".cognito-idp-fips.\(region).vpce.\(partition.suffix)")
    }

    /// The partition of a region; the commercial one if no other claims it.
    package static func of(region: String) -> AWSPartition {
        all.dropFirst().first { region.hasPrefix($0.regionPrefix) } ?? all[0]
    }
}
