import Cryptography

/// Tokens with a pool's claims, signed by another implementation (PyJWT), one with each algorithm, and their keys.
enum AlgorithmTokens {
    /// The members that make each key; `kid` is the name here, and nothing says what it is for.
    static let keys: [String: String] = [
        "rsa": #"""
        {"kty":"RSA","kid":"rsa","n":"tidzA-vUg7-PkAQEa8bM_9j5znnOOfBrS6ok87M5G2eeBqy-5SCLxKkiRuNfgG93fkfIM4\#
        39rUjFjsyRxhhpIZLseJJ6_Kyd91tJNwhuNHGp98cSTg6XSICr_malJoGuJ9Yu56GMORucZKXQgbbtA_ObBileATMKBq9_KvDL8h\#
        60TmViTSb_aF8vtslqI-F43O0nzoCDBsBYn2kBagTSkijbej8h2STWYR146rWaBeCPIr7F3wZX78T3_QEJiYSPM0wqd5RGNcM-I5\#
        ImNDNdMTgfn0N-F6NSpgiCOKXd3eg_dJh9cNjqtQqraGtlxKhTv_Ncc8vFGOOL42M8G2HAVQ","e":"AQAB"}
        """#,
        "p256": #"""
        {"kty":"EC","kid":"p256","crv":"P-256","x":"F8U_7ts_g5sZuqSO5VTfWAIAwuexxFKqvOhHTQWIheM","y":"5W8OTN\#
        C5bt32-orxEofqzZ2S3znwS3aV-dpq4kGpwL0"}
        """#,
        "p384": #"""
        {"kty":"EC","kid":"p384","crv":"P-384","x":"ky8RCC7vo_Qs_-xmhzQ3yDNy7F4AITZAlFD20Vf-_MjsB0WKlU0yNHf-\#
        1JhVmI77","y":"JzNccUR9iP-aCg6PGCEvZ1--L0a4pGCKz-j6end7CLBRRQMO1H5peoFd-EAwGipT"}
        """#,
        "p521": #"""
        {"kty":"EC","kid":"p521","crv":"P-\#
        521","x":"AMaYS5wtFrK_1ltdKKCFLFFLf4gAtdLDGJox1qjvQyy10OQqL0OLqBJDA0diV-mJnlHnL96KAsCiHleVtas3KOrY",\#
        "y":"AZneGS-s2BtZVn8NBCulFp49RecocXVtLH4UhZ_UtY61g4lk3vykS7RZi68SIZnhjNpCA4MJ074cWnQdbFBK7ScD"}
        """#,
        "ed": #"""
        {"kty":"OKP","kid":"ed","crv":"Ed25519","x":"AZtyU3xNJuTrcjfZnTst7nG4MpULu9pi4V_o6SEAwjU"}
        """#,
    ]

    static let tokens: [(algorithm: SignatureAlgorithm, keyID: String, token: String)] = [
        (
            .rs256, "rsa",
            """
            eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM\
            0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGF\
            tcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGV\
            tYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.l7hGaoMer0HWT67bOiOA9qwGcMcxBELFi91ekGHo296wwp\
            Nh1227ctAIKmvO_0TidHVKCCOlYfjrnYrGUMaznghiyMTjZUHLXhFM2cZTsb-sy2RLNI2r1teJ1gg68J1XVurVJtqb5xMj27Yd2x\
            7t4_l2uvyCUqDNVRIfl1cjM3nNXaTl0uEeU4XlA82bUNxlFzR0T-3_NnNflnKh3pSeXhla6AcbMzBjGQ9oD70M0BWTeWvWYtFpvM\
            iprVp1jT2YK1Iw4JUUrheZ4iIKEs3jah3aRtjKgAPdhBFinmtQqeYPyUmvQb2WLy74ZfTHY-gjZ2wwchXAVTRajT_zfqdQhQ
            """
        ),
        (
            .rs384, "rsa",
            """
            eyJhbGciOiJSUzM4NCIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM\
            0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGF\
            tcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGV\
            tYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.YOHSmKQYPLnAJA9-NcoyaSTaKpRW2bj0d9UvRWb0eRN9KR\
            epm5q-0Cpd1BeyKq25umheWU-pvGWJzBfZPeEvAC7opZIR28I_34mSFcGL8Fvrh8S5b6_u8hQIId3btwKu01ZKkZ-M1Ahuuy6731\
            sUDW1UaCoY9h1q4RlB4U7B3hzecoVYQrVd_KAZroIigAKct_gJ_NCHUyhVQyL8op5ormUfxqfC8i-9SR7cFYDF7sPwqb5GJusZ2E\
            RPdgzO8YCWmPE80IA25otG7XMCUS0IT7uq17moiV3qgbo3vxUDGKrs-q3LS9ae9gbR5ml9aJyp67eT0wh7Gq3CD63O-Nb90A
            """
        ),
        (
            .rs512, "rsa",
            """
            eyJhbGciOiJSUzUxMiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM\
            0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGF\
            tcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGV\
            tYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.jYaXwq5Y1UaDnbIbTqCceU4KwnCUamvaKYPXJJAKfoWfF8\
            Fkxm5nVPep3kEmX4FbnDa7EvpjALaw1bq7orbvyqjs5s2vbPcX-BIC8oFzSil4vwIoZQcwYMQnBCoZbednqCSsQ2ipPcFDqDH41L\
            k45SwS3GHQwyCuhzMzy6InkBz21J4tP6NW1RZY4lfVQR-eAQSu4vRFn2HZK-mvVMlj2c3s2LtqVU8gJyNKJnqNWXABDnyUDbyGRE\
            ZT5-p1iVqmFWzRi3QbKr61IKMNtspsfbNmI4B5i0FhI_p835KgPDMSwW5lmE8vIqMR3UP5zxyyEL3lhYvYrR9C04jKZpO2sQ
            """
        ),
        (
            .ps256, "rsa",
            """
            eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM\
            0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGF\
            tcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGV\
            tYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.EFBh-ZLS1Qf8RJSAfuNFka0szkXqLURvc9mmWscQoVoi62\
            W8i9NGttGI1D6zE-TLt74svdV0z__yFHe7lNmlrO0BhpOjOvzIsTvz1c6AjT_E9ehrNoQjrlxPyWIqRzmK68SYVxjRh4lUmJYwGz\
            lMZypO-AEgqD-h8QzA1KmfBcE54yvop_xBWB9YQeIUGZlLmFjqSklhevAHflvP3juounknQrnkU0G1I6B3iCZw-_YeRJwnS16VIm\
            j4T70xZpfUKPJxEP2D8bmmlT4WEzydzIFUiSXShY_N7_N6ZJ6ZivUc8pLTO6fBPRx1BPhQYpdvdPUOZvQ0QulbupTWUzD-6Q
            """
        ),
        (
            .ps384, "rsa",
            """
            eyJhbGciOiJQUzM4NCIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM\
            0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGF\
            tcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGV\
            tYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.F7GLTSaweoTQyWy-PH3OjvB7NwHGkPabfHdpU5YJ4D8QKO\
            VRtW8AAndM2RK6yFS_I1kBQLg40S-IZIu9HC6flfM11boypnjwwKUbjtc_OTpdqMTZF6HdK4L82gFENCLAoKZYhQhLNyMM-qwNz2\
            tKRk_W5P9LixCKEdPQDg8pu3DC0A3mEsdLNAbYZJSZxrYnQGvdHmjYNi7XOPg0GGy3pMa2sQOhn7Bl3x3PZDgb2SzYquSurtq5pb\
            BILFABp-DBmqtwUPFaJaYBCJVrJBpBHIyJ_eHhDA5brx7siHtzRrkpKp6pJLs8cCP9ckmvUzGnjkZjTAFhmH9lXqtBujHNAw
            """
        ),
        (
            .ps512, "rsa",
            """
            eyJhbGciOiJQUzUxMiIsImtpZCI6InJzYSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM\
            0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGF\
            tcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGV\
            tYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.Y4nXmgC7Z-SpeaJd4yJcPebVbHV8SFV7PPU6eJfu77VPkO\
            Qde7Qmbf6-rf1JbVDS3MstJ4Z0LbcWLiEv4bi2kDqP4ETt3bNOcb6LJ1acMkgQbwF7wMLfpq74V9vJ5U4KXWOhToilz3JuOfupzi\
            cojCcWnarTTbPehenPVttY47JVAyPfT09lLRxRBwzEk1Ixrdy3jhyRUei3000oI3uJgasy4zOjo5jx5I5gd-5Oi4XWq0--XSXPow\
            mGUBUbobzgixt3D35yes3Te_8-TziwBXzUi9Jyfiuq176ORiZNgM5Ztkrei3h8JrD98VcGhkCr-gS40yzSQo6UZlq6B8xWlQ
            """
        ),
        (
            .es256, "p256",
            """
            eyJhbGciOiJFUzI1NiIsImtpZCI6InAyNTYiLCJ0eXAiOiJKV1QifQ.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xM\
            jM0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9Fe\
            GFtcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkI\
            GVtYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.aqvnDprDEB8zNCJQYjXrVZW07DCt2MIAc8CGQzsEdmT0\
            WdAUs8dJUygI8KeFgw3lQT0D3SJcUcNo5dyRJsgOcQ
            """
        ),
        (
            .es384, "p384",
            """
            eyJhbGciOiJFUzM4NCIsImtpZCI6InAzODQiLCJ0eXAiOiJKV1QifQ.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xM\
            jM0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9Fe\
            GFtcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkI\
            GVtYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.pl7ZiMivD1HFC1sQZU3p3kQeWs6CZI9vSXHd0qbTDUJq\
            4KOSu-zqUhC34URBckkNwK5aUoxEUcmy7Gnu-scZ8G2Rw-iHNGVRviYaXORJo724wpfzTRLRKn9i0pNyvGvN
            """
        ),
        (
            .es512, "p521",
            """
            eyJhbGciOiJFUzUxMiIsImtpZCI6InA1MjEiLCJ0eXAiOiJKV1QifQ.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xM\
            jM0NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9Fe\
            GFtcGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkI\
            GVtYWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.AEXVviXU8_-\
            b_KcjKaieLOaQsDJEMAOuVvZDo9tRbeYmSYd-PVWpZ-7_1m-gV3QlD6OoBMfG-\
            _045Mk8m6VI4a8RASS5XT8CsVH0mIdQHhPrOAKMUZpmgGY35liliHhGWzcy5D3HbrSJe4QN7sn3IxOqo9esyLeDjUIRkSpmLFm4M\
            Q-J
            """
        ),
        (
            .edDSA, "ed",
            """
            eyJhbGciOiJFZERTQSIsImtpZCI6ImVkIiwidHlwIjoiSldUIn0.eyJzdWIiOiI2ZjFjMmE0ZS0wMDAwLTQwMDAtODAwMC0xMjM0\
            NTY3ODkwYWIiLCJpc3MiOiJodHRwczovL2NvZ25pdG8taWRwLmV1LXdlc3QtMS5hbWF6b25hd3MuY29tL2V1LXdlc3QtMV9FeGFt\
            cGxlIiwiY2xpZW50X2lkIjoiMWV4YW1wbGUyMzQ1Njc4OSIsInRva2VuX3VzZSI6ImFjY2VzcyIsInNjb3BlIjoib3BlbmlkIGVt\
            YWlsIiwiZXhwIjoxNzgwMDAzNjAwLCJpYXQiOjE3ODAwMDAwMDB9.f-Cd9ylRs06R6lHeDX6cTQ1prboyc5Heg0_Pv1PJgG_tc6V\
            8VEkGWf1IjrUsmG2C6XXhHm6RdeuTUyR5gK9pDg
            """
        ),
    ]
}
