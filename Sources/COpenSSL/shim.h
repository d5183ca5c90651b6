#ifndef GATEHOUSE_COPENSSL_SHIM_H
#define GATEHOUSE_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* Macros that Swift cannot see, one function each. */

static inline int gatehouse_public_key_selection(void) { return EVP_PKEY_PUBLIC_KEY; }

static inline long gatehouse_bio_contents(BIO *bio, char **contents) { return BIO_get_mem_data(bio, contents); }

static inline void gatehouse_free(void *memory) { OPENSSL_free(memory); }

/* The builder keeps the pointers to the names, which only C's string literals live long enough for. */
static inline int gatehouse_push_rsa_public(OSSL_PARAM_BLD *builder, const BIGNUM *n, const BIGNUM *e) {
    return OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
}

/* `point` is uncompressed: 04, x, y. */
static inline int gatehouse_push_ec_public(
    OSSL_PARAM_BLD *builder, const char *group, const unsigned char *point, size_t count) {
    return OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, group, 0)
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, count);
}

/* The names are the JWK names of the curves, which OpenSSL knows too; these live long enough for the builder. */
static inline const char *gatehouse_group_p256(void) { return "P-256"; }
static inline const char *gatehouse_group_p384(void) { return "P-384"; }
static inline const char *gatehouse_group_p521(void) { return "P-521"; }

static inline int gatehouse_is_zero_or_one(const BIGNUM *number) { return BN_is_zero(number) || BN_is_one(number); }

/* PSS as RFC 7518, 3.5 has it: MGF1 with the same digest, a salt as long as the digest. */
static inline int gatehouse_set_pss(EVP_PKEY_CTX *context, const EVP_MD *digest) {
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
        && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1
        && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1;
}

/* Without a callback OpenSSL asks for an encrypted key's passphrase on the terminal; this one refuses. */
static inline int gatehouse_no_passphrase(char *buffer, int size, int writing, void *user) {
    (void)buffer; (void)size; (void)writing; (void)user;
    return -1;
}

static inline X509 *gatehouse_read_certificate(BIO *bio) {
    return PEM_read_bio_X509(bio, NULL, gatehouse_no_passphrase, NULL);
}

/* Whether what could not be read was not there at all. */
static inline int gatehouse_was_no_pem(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static inline EVP_PKEY *gatehouse_read_private_key(BIO *bio) {
    return PEM_read_bio_PrivateKey(bio, NULL, gatehouse_no_passphrase, NULL);
}

static inline int gatehouse_write_private_key(BIO *bio, const EVP_PKEY *key) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
}

/* The stack of what a PEM file holds, whose functions are macros. */
static inline int gatehouse_info_count(const STACK_OF(X509_INFO) *infos) { return sk_X509_INFO_num(infos); }

static inline X509_INFO *gatehouse_info(const STACK_OF(X509_INFO) *infos, int index) {
    return sk_X509_INFO_value(infos, index);
}

static inline void gatehouse_free_infos(STACK_OF(X509_INFO) *infos) { sk_X509_INFO_pop_free(infos, X509_INFO_free); }

#endif
