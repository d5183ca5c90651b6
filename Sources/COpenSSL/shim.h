#ifndef GATEHOUSE_COPENSSL_SHIM_H
#define GATEHOUSE_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

/* Macros that Swift cannot see, one function each. */

static inline int gatehouse_public_key_selection(void) { return EVP_PKEY_PUBLIC_KEY; }

static inline long gatehouse_bio_contents(BIO *bio, char **contents) { return BIO_get_mem_data(bio, contents); }

/* The builder keeps the pointers to the names, which only C's string literals live long enough for. */
static inline int gatehouse_push_rsa_public(OSSL_PARAM_BLD *builder, const BIGNUM *n, const BIGNUM *e) {
    return OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n)
        && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
}

/* Without a callback OpenSSL asks for an encrypted key's passphrase on the terminal; this one refuses. */
static inline int gatehouse_no_passphrase(char *buffer, int size, int writing, void *user) {
    (void)buffer; (void)size; (void)writing; (void)user;
    return -1;
}

static inline EVP_PKEY *gatehouse_read_private_key(BIO *bio) {
    return PEM_read_bio_PrivateKey(bio, NULL, gatehouse_no_passphrase, NULL);
}

static inline int gatehouse_write_private_key(BIO *bio, const EVP_PKEY *key) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
}

#endif
