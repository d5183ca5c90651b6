@testable import Cryptography

/// SRP exchanges computed with the integers of another language; their keys equal those of pycognito 2024.5.1 with the
/// same numbers. Of the long numbers the SHA-256 of their hexadecimal text is kept.
struct SRPVector: Sendable {
    var name: String
    var identity: SRPIdentity
    var password: String
    var timestamp: String
    var salt: String
    var a: String
    var b: String
    var x: String
    var u: String
    var hashOfClientPublicValue: String
    var hashOfServerPublicValue: String
    var hashOfVerifier: String
    var hashOfSecret: String
    var key: String
    var signature: String

    static let multiplier = "538282c4354742d7cbbde2359fcf67f9f5b3a6b08791e5011b43b8a5b66d9ee6"
    /// SHA-256 of "block", three times.
    static let secretBlock = [[UInt8]](repeating: SHA256.hash(Array("block".utf8)), count: 3).flatMap { $0 }

    static let user = SRPIdentity(poolID: "eu-central-1_QwErTyUiO", userID: "0c9d8e7f-6a5b-4c4d-9e3f-2a1b0c9d8e72")
    static let device = SRPIdentity(
        deviceGroupKey: "-qWeRtYu", deviceKey: "us-east-1_11111111-2222-4333-8444-555555555555")

    static let all = [
        SRPVector(
            name: "every top bit set", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "e203f186f541f93aca7e9f803dfc5d67",
            a: "b02d356f06310552b89a4f54262edca67cbc7f9eac7497061eab968529f72873",
            b: "c38934375664452c1bf8d299588c2594a5e66c9a014dd0888cc25aedbf40409c",
            x: "af7623ee2816e2ee9c9168facf4559966d1637d37d9800b02d7f918b24be664e",
            u: "f8a8aff045ebcbda2003bf422a7548a851f5ae933d54c2ddf87185ebdbfa9694",
            hashOfClientPublicValue: "a6732e801c534d7848c358f0e9704dd21950a09a2169cbdad6353cab0458d75d",
            hashOfServerPublicValue: "646d189449ee4d1e4ea43efaa7bfe95a0fb28b2352ad1d4ffb9d56ce14eb7fbc",
            hashOfVerifier: "c44856b6252a8ce67962b3a9cceeeae8570ced0d1dee46f8ff728863d8f12255",
            hashOfSecret: "2ef4cde54ab25f6ad5ec18a3c96e9bc09e71ceeb81b4427683571cbe6fe93b17",
            key: "10a1b30d31d26715d28922dd20d7297e",
            signature: "45d4a4898f24040dcc5bdfb0819b80d39af7c2eb01e9f300e9adc6e08be9fe0d"),
        SRPVector(
            name: "no top bit set", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "3b33d6436871a6e0a4e53cf1ef22a53b",
            a: "27fa7358be4b60a18ac456c5925cd7091aefaf0949e71a6fea1da32ca17c9926",
            b: "9d27bac4a6efef0b60147633fe9b1020773460b6b47042c20b43397cc6163f95",
            x: "f756fd3f9c60366655a02b839c28058bbe3b75b2a67c301f740e0d9c5c83286e",
            u: "54d32bbb90707cff0f3a2c3cd81744e2b2a417a473dceb0b1922b87e113b2020",
            hashOfClientPublicValue: "9cf524cbd5791843e581d6ae1181af7c65589f66fda2ad526e2c61b8ff53f5c6",
            hashOfServerPublicValue: "4591465ac23b91f6be0bab88f98e90d1959e1d595e2dee3945f4fc5cb6751e2e",
            hashOfVerifier: "6eb582604800fb77eb7435a985e56ea64b0f59078f059214f4987a5c6c0835f0",
            hashOfSecret: "d39a2cd13c0932e163d39eddcf6970abce1f19cd5c409ed0e7862ed51efef739",
            key: "33aa8e4121c83c7181a10defe0c14994",
            signature: "af4c221c87a6f71c7fcca69f8122f263c179207b2f5463d8a7d69f32467b771a"),
        SRPVector(
            name: "A with an odd count of digits", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "d618e2244a280c99cbcf3dfaea6303ca",
            a: "350957e43ab34562639eee563e77c787c7a6899f952c5c06e4b9768ab2dda041",
            b: "142effe764566d7b1ba8fdd5f16bf0212432641b3cff10d74556308941a19119",
            x: "ba9b572aa8c58fb8f51b995c3012cbfe0faf1b847406a20495890ee8e3cfb39",
            u: "c60efb6dad1c4aa912824be4c200cfecc2f4b86b47930878a04d3095c723d682",
            hashOfClientPublicValue: "81f612d48feeb8b4d1331810fb015839432605d8e662e72a14ada3c806ac592b",
            hashOfServerPublicValue: "37d207fe18a8943c4021ca97ae5e8054264848e44b5c612815fc1b7f7da9b0c5",
            hashOfVerifier: "d10f99737dc18a530cf9809dd4999314c9b137658efad2a70d56836b811c7237",
            hashOfSecret: "9cccd6c9e7373937d1476feae22f4ffaeb15504d3993a884dcb5ffebd80f72c6",
            key: "9c04025f346945b21ebdfa7c6c282298",
            signature: "6109d41607079c93f6bfb372f3f49a6bce2604db3a3a3c9f7d00b76d5f729fac"),
        SRPVector(
            name: "B with an odd count of digits", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "27a4de83f8fa3aa2a919dc0238ec0ce0",
            a: "cd55a4d981d3793fe67cca7714edb4b9b1468f214d62115bbd4d72293455b636",
            b: "2321c19067e48dee9e91b5bdb6c880fb590d44db941488602ce406a5cd987e03",
            x: "1e91f58c527b841253b8e99b0664ef09d72d27b322fc9ee85a800e0536b50e90",
            u: "cd808d53c68bc07e330c7a1ce6f76c16176d78b158b74070682deca04c294930",
            hashOfClientPublicValue: "50c144cb9402a1684ad7160fc0ca57baac6cae3ac48522b86d421b99125d44b2",
            hashOfServerPublicValue: "654045256dbd8ef4e9c82e7e06c16f02f1e0703129b123a5032e71ef65e3fd1c",
            hashOfVerifier: "17895c78e086ad738ffeb7be7aea1a9b20dcfed86430b14253371e5fa5d94a62",
            hashOfSecret: "75cb8d5bd052800360e20a68e1bff777bb4dc04205d02684c2b60c5c34df5253",
            key: "3d2946c8d1617d82e47e3c134c7bda8b",
            signature: "e2109668411cfcb66c1e7ae5070bbc0010acc55ced07697087ce210aa317099d"),
        SRPVector(
            name: "salt and u with odd counts of digits", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "644d89a533882fadf60d5d15d7ebe69",
            a: "105e1d7349e33c4e5a7c1b1b51c6515ef28a30b106a4e75940532cb6123c9262",
            b: "8ab19266a615fa18777079579d3760a8900faf12feb915750b20b6ddd7fb5a00",
            x: "9910685ca3f2a0f7e94994dd3fd48e39b59963ad7e9a1b4ad1263bed0ccd32f5",
            u: "934b2f7968d89a428a6c0847ca1f6897f15b681756383b566afbd1e678aa5a2",
            hashOfClientPublicValue: "fb270da327af3d6a0a2375dd542ff94576d0673b17109f0e50af77b1ed10c59f",
            hashOfServerPublicValue: "2a5d4aac4ade6fe35ecea884fb114869bacf87d40f4baeecfb9219e84239405c",
            hashOfVerifier: "62ac018713230bc55c3017f47a4d8d528387b8970d3f6917f333ab25905c93ba",
            hashOfSecret: "3ea91d39a2208ff3e08d9a9c2614ea836ecec1dc112f8b8d27f8a49224ba5f96",
            key: "e133d1c1743b09b2cd3193463240469c",
            signature: "8765b96307d0baeb59500430ebbc82feb04d6b3f95c7cea2f928ea7f8ed81380"),
        SRPVector(
            name: "S shorter than the prime", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "9c341efd7aca010a0950f55882522593",
            a: "f68043789e52f4249f88b5d9c98f21e6022fc0b573103d97daca7a0e6758cd1f",
            b: "3a78b0c67c22ac3d266e585b428b19d0369269a0f769dd64f08a312760d93694",
            x: "990284a31cd9ec12c107ca63b207f3297b4196be482a2f7bbcfd040162b91d19",
            u: "73dd9cb6ccdd95b4b79d839e11a2c12173903320c2bae4b1fc7fe94075d1f4f3",
            hashOfClientPublicValue: "83c28e2d255ed79680d9ce6c6dce48d9540d5b55d63e0c3efd07f35cfa06fa54",
            hashOfServerPublicValue: "0b388b6f1c74a7f5fe4bb9aa42457bfa52b393633516cac80c61878b0342766a",
            hashOfVerifier: "b28731d85a608a11cba35d9119e971205f324dc6ae34c6e40a4fd7d3f78014fa",
            hashOfSecret: "0183d4801d5bfec66b41745fc0803bcefd749acb0230123665208df2b04a0fdf",
            key: "134d411430ce13da91bcdbdb1df1dc73",
            signature: "63666ccf4ba1dd267b655d97e0e6451d93b47094915cf0e8e34b14f3880b4479"),
        SRPVector(
            name: "a salt shorter than 16 bytes", identity: user, password: "Pässword 2!",
            timestamp: "Mon Feb 29 00:00:00 UTC 2027", salt: "944577433b61576fe7600d4ea473e7",
            a: "2844a64a31633c8b5ceede9637e9bfd3cf34c5deb79b4c8f7e55aae201071310",
            b: "3267495fab2d692e29c52dbe640036be6e7942e9d7d909e812c2648847640a7d",
            x: "a02a78c09b7719cecf83a0ae0c81fa949d1a62762965627116578276d513201b",
            u: "fb9b16e442fdaa1ead24289d44e1d157e0998997b45b186b11f70e3e903b3160",
            hashOfClientPublicValue: "00fac9c58cf61655ce1afc8f470be8d69352ff801b65dd7a7822383f0fec3d12",
            hashOfServerPublicValue: "3d83ae289c3df814015f61f5bd8c84d05cb5960fa1c2350a15445cae232fbeb5",
            hashOfVerifier: "66a92809daa0db0a6b91648800dcfc2456fb2bf46b576a97b36ebed392a65f50",
            hashOfSecret: "e4bceaec0c527417900043ba9f03127f85416b179cbc789393eeb5e216c59f8e",
            key: "a07b3593e3a725b8fa1821d7015255c0",
            signature: "c2a9be2926a45b1343d068e03a33dc6cf99ca8eccbeeb820f029c99ff14b2cd7"),
        SRPVector(
            name: "a device", identity: device, password: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJw==",
            timestamp: "Sat Dec 28 23:59:59 UTC 2024", salt: "aec51242d6a2960d29591715ba43ebd7",
            a: "d45783c1e012dd04805673fc863deb148c3190b1e8b9ce44f9b3d7a8e7351af6",
            b: "95d96cb1e571ec64e3047c40456d288cff78650f7c50d5d6e37d9117f3efbb2e",
            x: "11b00a7593b52eb91515c53a7f18cc369702f9a4f0ca289c00dc3208fca32e4b",
            u: "ab0832f8ca182570369257a7546f997a1439dd754aa6ad4c2d50a71ab57d40b",
            hashOfClientPublicValue: "a50761b187162d77cb7c96d1ead8d0bcea66f666d4e7a2e32e2b6066b2a9752d",
            hashOfServerPublicValue: "d134decb088c6c796d288d680123711a29ff56fb6be50498fe8c001f83b6b50b",
            hashOfVerifier: "610662fbc41e1a7c66c0d8d558e246bfac3590babc7f4fcdf3081e4c7e53688b",
            hashOfSecret: "f3e28ea1b234fcba0aa33bb83ec17fdd6bfe51b47610e6c743387fc429ebaa95",
            key: "fba6985305cd0d0460a80db6a201f15a",
            signature: "f70165ba704f9bdafd08154982c0d73126248343cae3008291db0d1d032488b6"),
    ]
}
