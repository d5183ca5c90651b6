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
#include <openssl/x509v3.h>

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

/* A callback of a store's verification. It refuses a server's certificate without a DNS name or an address among its
 * alternative names, for which libcurl would go by the subject's common name. Clients must not (RFC 9110, 4.3.4). */
static inline int gatehouse_refuse_common_name(int is_valid, X509_STORE_CTX *context) {
    if (!is_valid || X509_STORE_CTX_get_error_depth(context) != 0) return is_valid;
    X509 *certificate = X509_STORE_CTX_get_current_cert(context);
    GENERAL_NAMES *names = certificate ? X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL) : NULL;
    int has_name = 0;
    for (int index = 0; index < sk_GENERAL_NAME_num(names); index += 1) {
        int type = sk_GENERAL_NAME_value(names, index)->type;
        if (type == GEN_DNS || type == GEN_IPADD) has_name = 1;
    }
    GENERAL_NAMES_free(names);
    if (!has_name) X509_STORE_CTX_set_error(context, X509_V_ERR_HOSTNAME_MISMATCH);
    return has_name;
}

/* One DNS name as a subject alternative name (RFC 5280, 4.2.1.6); NULL where there is no memory. The caller frees it. */
static inline GENERAL_NAMES *gatehouse_dns_name(const char *name) {
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *entry = GENERAL_NAME_new();
    ASN1_IA5STRING *text = ASN1_IA5STRING_new();
    if (names && entry && text && ASN1_STRING_set(text, name, -1)) {
        GENERAL_NAME_set0_value(entry, GEN_DNS, text);
        if (sk_GENERAL_NAME_push(names, entry) > 0) return names;
    } else {
        ASN1_IA5STRING_free(text);
    }
    GENERAL_NAME_free(entry);
    GENERAL_NAMES_free(names);
    return NULL;
}

static inline int gatehouse_set_request_name(X509_REQ *request, const char *name) {
    STACK_OF(X509_EXTENSION) *extensions = NULL;
    GENERAL_NAMES *names = gatehouse_dns_name(name);
    int done = names != NULL
        && X509V3_add1_i2d(&extensions, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1
        && X509_REQ_add_extensions(request, extensions) == 1;
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    GENERAL_NAMES_free(names);
    return done;
}

static inline int gatehouse_set_certificate_name(X509 *certificate, const char *name) {
    GENERAL_NAMES *names = gatehouse_dns_name(name);
    int done = names != NULL && X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
    GENERAL_NAMES_free(names);
    return done;
}

/* An extension whose value is one OCTET STRING. */
static inline int gatehouse_add_critical_octets(
    X509 *certificate, const char *identifier, const unsigned char *bytes, int count) {
    ASN1_OBJECT *object = OBJ_txt2obj(identifier, 1);
    ASN1_OCTET_STRING *inner = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
    X509_EXTENSION *extension = NULL;
    unsigned char *encoded = NULL;
    int done = 0;
    if (object && inner && value && ASN1_OCTET_STRING_set(inner, bytes, count)) {
        int length = i2d_ASN1_OCTET_STRING(inner, &encoded);
        if (length > 0 && ASN1_OCTET_STRING_set(value, encoded, length))
            extension = X509_EXTENSION_create_by_OBJ(NULL, object, 1, value);
        done = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    }
    X509_EXTENSION_free(extension);
    OPENSSL_free(encoded);
    ASN1_OCTET_STRING_free(value);
    ASN1_OCTET_STRING_free(inner);
    ASN1_OBJECT_free(object);
    return done;
}

static inline int gatehouse_write_certificate(BIO *bio, X509 *certificate) {
    return PEM_write_bio_X509(bio, certificate);
}

#endif
