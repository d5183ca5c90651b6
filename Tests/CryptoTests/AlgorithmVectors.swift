/// Keys and signatures made by another implementation (Python's cryptography).
enum AlgorithmVectors {
    static let message = Array("the signed bytes".utf8)
    static let modulus = bytes(
        hex: """
            b6277303ebd483bf8f9004046bc6ccffd8f9ce79ce39f06b4baa24f3b3391b679e06acbee5208bc4a92246e35f806f777e47
            c8338dfdad48c58ecc91c618692192ec78927afcac9df75b4937086e3471a9f7c7124e0e974880abfe66a52681ae27d62ee7
            a18c391b9c64a5d081b6ed03f39b06295e01330a06af7f2af0cbf21eb44e65624d26ff685f2fb6c96a23e178dced27ce8083
            06c0589f69016a04d29228db7a3f21d924d6611d78eab59a05e08f22bec5df0657efc4f7fd010989848f334c2a77944635c3
            3e23922634335d31381f9f437e17a352a6088238a5dddde83f74987d70d8eab50aab686b65c4a853bff35c73cbc518e38be3
            633c1b61c055
            """)
    static let x256 = bytes(
        hex: """
            17c53feedb3f839b19baa48ee554df580200c2e7b1c452aabce8474d058885e3
            """)
    static let y256 = bytes(
        hex: """
            e56f0e4cd0b96eddf6fa8af11287eacd9d92df39f04b7695f9da6ae241a9c0bd
            """)
    static let x384 = bytes(
        hex: """
            932f11082eefa3f42cffec66873437c83372ec5e002136409450f6d157fefcc8ec07458a954d323477fed49855988efb
            """)
    static let y384 = bytes(
        hex: """
            27335c71447d88ff9a0a0e8f18212f675fbe2f46b8a4608acfe8fa7a777b08b05145030ed47e697a815df840301a2a53
            """)
    static let x521 = bytes(
        hex: """
            00c6984b9c2d16b2bfd65b5d28a0852c514b7f8800b5d2c3189a31d6a8ef432cb5d0e42a2f438ba8124303476257e9899e51
            e72fde8a02c0a21e5795b5ab3728ead8
            """)
    static let y521 = bytes(
        hex: """
            0199de192facd81b59567f0d042ba5169e3d45e72871756d2c7e14859fd4b58eb5838964defca44bb4598baf122199e18cda
            42038309d3be1c5a741d6c504aed2703
            """)
    static let ed25519 = bytes(
        hex: """
            019b72537c4d26e4eb7237d99d3b2dee71b832950bbbda62e15fe8e92100c235
            """)
    static let rs256 = bytes(
        hex: """
            5070d83eb78529c427537aaaa7cbae127c6fd56f7fd07b7b0602f89000b62f6dac64cccba03b72daa6091d8d9e2af683ff60
            8c0013ea2d081cbbbe6871e4030288c5e53162c45d3155ac4095b793907531df55860d70e6858eab32193268e7a510a8fdf7
            ab010fc6a98ad0e473b6398885f0e592ed98ef5b3163dc0e891a66e569f4af45adc4786447cc1217aae0c4cb597174c758bb
            0e5543cc8d2f3f4543782786cd7522750d07240646dcc324e505cedb7d97c2f840030ae5a478708027c76630ed655cbb96ac
            c1451c043f07a72fc010fcf5bf92e94a0d49cc27ad073d2924878a3ae63da5e75f9fc4dd9b93a88afc5251cbf8a1b79ac210
            027be59091d8
            """)
    static let rs384 = bytes(
        hex: """
            568ba0da9599f2e6ab3540d7eb494e74b9c948504b34c1d248f44255637351730b972889d313c6599dc44bc649432890aac9
            7a229fefa08404d216b0141231b4a2e56d5f8723b5761f6b9a6fbf982fe1a5f5a788147375adf944438235ee96bb95a6b77b
            8a01596d0e10aee38192d7120865af7c97cdba063857c574e1fb059140dc915cb4a74695e755a0f33445a597efd4e935aac1
            d262ed0c782b9b9f69e44c2079d900ff6d2210f4bb5d5bfed1fc51f8054a3752a94a16cc2c29180952bdf53e471e81ec173b
            10454508fd54bc1b8038fa8af01262ee3851758585cb89d7ddc0b39c22b4393f3d45dee3633070911facee067ddcf18f0763
            79a1158bfe45
            """)
    static let rs512 = bytes(
        hex: """
            864769c0b737d41b9aef3af106ebf537c321a6de81c832825c57638c18871e17811c199376ed78241c26adf000f4d20b0267
            55c8a43d9294f2fec84a708796f4989b7aacdd31dad1d2bdc12098ca5416e344c2fdf72119d8f1aa6d40147360ffec23ff6f
            8b12b7d121ed53a6fe2aef460101ab23b004dea03d4a158df40239903365488ae1597fc948567c44db5e4410b92eec4620ec
            616740e5a5679eab8e7b12c14da4573797a78ce2634ca7858021db69acdb86160a1dfcef1b4c09d2bad33da1fd7a6edfd917
            ba61a9e06a4d0ceac0c84e9b28fdb1573275a697ca9cc019a8d4d3427d603e4963dc72a961e4ec292b42aa22d41b4e4e35f9
            519c1f8197e6
            """)
    static let ps256 = bytes(
        hex: """
            10ea3416d6892fdc71cb13d1819a9b2b412290cffa0abfe5a5317e50258535e8c01efca9b76bc6f428098d053ebeee145465
            0a18922aff654c3f0954d143b87cfcd58b2935bf2a28aea4b011b549d398b3bb13915f0a252c182236c69ae6d5a7b6bb7703
            2c50954f1571cc237b22c7b3ab69d09ed4a94b8695953e1eb6cde0635cb54bfb50f3ec2bc9d5e09e189451754c4800835eb9
            c9e196852ada82fec6e4dfaf72fa700ee22a2d48b5755cfaee37f4a40ea354f8fa31996ba7035bd5cc7c833d4492931b6491
            ec09f262f5d01c0cefb0e877fa02ed24bc2925ef5a9ac22beef2ebfc14e99ff6c4fbc867b90fe8904efc9f168569992d8644
            9b59fb840b96
            """)
    static let ps384 = bytes(
        hex: """
            39952b72ce5f4ae8356f3973c7fc52c5bc105ac39ff620fa86502488e779869300a5841a3f7c28e8c7ff8efe88c5e464bdfc
            778d342038dd3ab037ed36a616d463dd6b8da8eafa8cd1a8098c72dd76f2b2f2f98a2491cb0460bdbdc24d0f45c99e32c74a
            c788ec803a6bb953f77f3512ef61af19b48e2775a1943bd470d5e6b5f212916c625e2f6ddde128ae232725da994d0bc4a293
            1a9f88255317bf57d0f14d1b7d5a1ce71af36ce5f3e7966044c3927a4a827707526f2408ff4803a6ce644ae14fcab9514da3
            7e24a9a5b13a2bac592a2ec9baddee7047ea2155628392a7ee85f31bf065b79610138af92b0add67e26d826ce0d363331c3f
            13aa1780809e
            """)
    static let ps512 = bytes(
        hex: """
            00539e9c93e604579caa513b7467eb1c14eaf6d0c9655f541bde35f08ba1d2c467ac78a7cdb7bca2c06fbbdf51bb57a42e38
            62fcc01548ae432849752361ddbefab95667c598ff43ef590e212e8146a4616057de77efd7611ff3645d86751dc0fbb2bdaa
            ca06390c8502717cab0be8a06bcbc555950f437c1498136acf577976f166bac5fa47c39254b2674a2a3bc41e3eb9a54061a3
            cad5ae2ad5374ecbf1f7979d4791cd6f231be1b81e33bd0424c089cb8dc81678bc53830ae2a386421e94baf6116c84ea0ac3
            16fbeaaa731798ee841597b4f82123451abc3d39d2e8975cfaf2f1235cb4079630110f742efce9304148a8135d623967712f
            821abbf97326
            """)
    static let ps256WithoutSalt = bytes(
        hex: """
            66920b2446a07b2a6438bfcdd0f60b509f436a525432d94bd1904b6f66ec71c09119526c62f3a74bd85275e8c764301693f6
            e9fbafa273357ff0a2a234ef0f767f6c3618b3a87cf77b4ba403fb03bcbee114a193d309f87d789d4d310416644049d97292
            61af81cbe97fbb71fc543e772709a5451927d8054d629a6a85bb6e71c20015fef687c912a98515a788d64f4355cc7308b3f8
            9cfb1a6d0aa9a6563af456579a0c5a1a023589694ad6234e02cc5a49ac36c6d2bcb5bb865761c8f7be335c00ca352e327a79
            49c032612b8112584b6b0d9555fe7205a1998baf514c4471b3bce9f553c5debcb2809b9574c92349cde8a9ec12c7d64e8e88
            d5707a04ceaf
            """)
    static let ps256WithLongSalt = bytes(
        hex: """
            4a51a7d4f984695fdc144398414a1419c4379d99c6f4aafe953140b5d5972e9715b74d9399b958cd47e7d055943a9933a443
            9a862112ff4921d0625347dcffcece6bb0140bac2e5f4f9971ee1fbc4e9f975376564d69e6d4d86ff17d0794bb97800a2658
            94f02a63f62e88efd97b31ff2e166b7ac48d477d3c93999743f4aa4931aee614d0c107c45784518dc644c73517bea71383a4
            4e31b9ab7c4aa9e28d5d28393e07104b1395ce63bca97a669e007e5762c96ebce27344124d9ec6dacdd0ffef08d97f8aad40
            47ecc70152c5f36f3211aa0e024b6ec7791f8e319b767f2f526c633a83d0921dcddc477d9a907c51638e0546e9d604cc468d
            3d5e6bed721b
            """)
    static let ps256WithOtherMask = bytes(
        hex: """
            a6ad173a866d4c44fab5977a6e3a1aa22e33a9436f1d0bb173ded4d9b2ebd83d995e414f0c945792455c9bc33055386ae773
            aae1971e1b91064a96163410ea8a5ff9bad7fe9f5ac2f98ea3b62f3985be69cb226c112a40adfb4c18e2c70a8de2e96ce95e
            163ea0f218cacc3bc70839513266670047ca8b3b77bfacaf5794c97f5851caa103b1e6c607ee7a437e0a37b3e9f74b411ab6
            69881ce2bc967a2aae8033395065139368bfe49236db6cb3c25fe63b2382f020e9945732949d66c7d6e444d91cd90183e025
            f91b118c2765b0335a4551aa5085cd212a4947e172419b5e70b632b512955d1431661f012e22df45d69c2c64b2b4e0f29679
            548295b1054e
            """)
    static let es256 = bytes(
        hex: """
            a40061a021218fc96c7418e08c2d2a8f3093c62becf828d5a124b21038cf84977fbd6276211b30bad46d8b168cb531ef7b94
            1cd0d55a3be69171ec4d76e4bde0
            """)
    static let es256InDER = bytes(
        hex: """
            3045022100a40061a021218fc96c7418e08c2d2a8f3093c62becf828d5a124b21038cf849702207fbd6276211b30bad46d8b
            168cb531ef7b941cd0d55a3be69171ec4d76e4bde0
            """)
    static let es256WithShortR = bytes(
        hex: """
            00e9c430170706e63099fe9ec517fec2215257497d40168ce1ea9b0a0c10f0abc7bca372cb57d76ae43c635b233b6b560958
            b80eb641bba124cb36a19d66f94d
            """)
    static let es384 = bytes(
        hex: """
            aa41a7be040beae00ef2e0d1bdd8a65ced1f59222269e7f0ca8dde9c3a7c88e2b7630741d147ccc670093286ca505a51d274
            4b5ab5fcbde6b1bb652e29e9bec32d9990880c6f52f404fe327b81eda28f26c1c89bc109c9ec0d5dcee08b81d1e0
            """)
    static let es384WithShortR = bytes(
        hex: """
            00a5bc5a7fe3c8b0c3abcaa36dedcb9aed89f69c94eeca7679dc2a492cb6263eb0db1d5233185aba1f275667451ee5ef0e49
            37b8674c1319e0aa3dca6727c5edac310c7a2d75bda5d98d837bd39aadb6204223c0b1bb234591e988c1a3220f0d
            """)
    static let es512 = bytes(
        hex: """
            00ccae3ef2c2910ff9a53c1161dde9a0151bb44203723d738d6362d5bb90997d6e31278d5fc5c9a15d0cd9e3576d36ca63d6
            237ff7ce62b564d1c81b8b48f859f49100adba5a15fe33825e7e556ab310e99087a81aa9c8898c05865066848d07e2f4fa09
            ae5680767446347852a3dada3a1d39e0222f0a986c6a9fc77b6d58fc9341d248
            """)
    static let es512WithShortR = bytes(
        hex: """
            000080277654ec46435529d2b73fbd9ff80d54835c9f8441a575734f5b287eb00c45f7a6f787b599f2aead6353eda3f08b3c
            f2db187016cb2a6b891d4ce58973eef20032304ef4f14e2fb97e9c9dbe78690ad2da909ad82cb7adff13354baec2efd13b19
            f374f4b11904388f2ff45085045bd3f2545dc7c315a6bffd5ae038b4d99ca5e5
            """)
    static let es256OfSHA384 = bytes(
        hex: """
            2021df378430ea24c539fd5f7deb089a2edca672f4a818a4894fba6f377e7c782ad308c15e96d26075cf2aef34199ecbd88c
            1343ce80f09067d9dfddbab1280a
            """)
    static let edDSA = bytes(
        hex: """
            7274224571a8a0736c78e7566343d1f595951bb9e7272d6aa6e7e9633de267c3353f2d9593b41c3ca29f2be2f76c976ee13f
            d0c9e3a437293818cd49645cc00a
            """)
    static let secret = [UInt8](0..<64)
    static let hs256 = bytes(
        hex: """
            80588c4512985216e02c4fc1f4593c7fc76b7a7613d3b2b7160b6628598a4d3b
            """)
    static let hs384 = bytes(
        hex: """
            3e32311944cbec44c3d8c82f272628f7021a5bdf1447b0cd956f7741b6cc0d664e0f6c4a198c6a63195263ed41f2058e
            """)
    static let hs512 = bytes(
        hex: """
            7f9494e38a0cab1244a2b631fbd832c810a49a601a21ab674a961e9052ac3ad6efd059cb01acb1962984cbb329af448c5c45
            94ba1b2fb11ccb36157c0b348fa9
            """)
}

/// The example of RFC 7515, A.1: an HS256 code with its key.
enum RFC7515A1 {
    static let secret = bytes(
        hex: """
            0323354b2b0fa5bc837e0665777ba68f5ab328e6f054c928a90f84b2d2502ebfd3fb5a92d20647ef968ab4c377623d223d2e
            2172052e4f08c0cd9af567d080a3
            """)
    static let signature = bytes(
        hex: """
            7418dfb49799e0254ffa607dd8adbbba16d4254d69d6bff05b58055853848d79
            """)
    static let message = Array(
        ("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
            + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8)
}

/// The example of RFC 7515, A.3: an ES256 signature with its key.
enum RFC7515A3 {
    static let x = bytes(
        hex: """
            7fcdce2770f6c45d4183cbee6fdb4b7b580733357be9ef13bacf6e3c7bd15445
            """)
    static let y = bytes(
        hex: """
            c7f144cd1bbd9b7e872cdfedb9eeb9f4b3695d6ea90b24ad8a4623288588e5ad
            """)
    static let signature = bytes(
        hex: """
            0ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665c50a07d38c3c70e5d8f12daf084a5480a665
            90c5f293509a8f3f7f8a83a354d5
            """)
    static let message = Array(
        ("eyJhbGciOiJFUzI1NiJ9."
            + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8)
}

/// The example of RFC 8037, A.4: an Ed25519 signature with its key.
enum RFC8037A4 {
    static let key = bytes(
        hex: """
            d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
            """)
    static let signature = bytes(
        hex: """
            860c98d2297f3060a33f42739672d61b53cf3adefed3d3c672f320dc021b411e9d59b8628dc351e248b88b29468e0e41855b
            0fb7d83bb15be902bfccb8cd0a02
            """)
    static let message = Array(
        ("eyJhbGciOiJFZERTQSJ9."
            + "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc").utf8)
}
