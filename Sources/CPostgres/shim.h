#ifndef GATEHOUSE_CPOSTGRES_SHIM_H
#define GATEHOUSE_CPOSTGRES_SHIM_H

// Debian has libpq's header in a folder of its own.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif
#include <dlfcn.h>
#include <stddef.h>
// The descriptors of libpq are watched with epoll, which Swift's Glibc module leaves out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

// libpq is not linked: it is loaded where PostgreSQL is used, so that the program starts where it is not installed. The
// types are those of the header's declarations, so that the compiler checks each call all the same.
#define GATEHOUSE_LIBPQ(each) \
    each(PQclear) each(PQcmdTuples) each(PQconnectPoll) each(PQconnectStartParams) each(PQconsumeInput) \
    each(PQerrorMessage) each(PQfinish) each(PQflush) each(PQfname) each(PQfreemem) each(PQftype) \
    each(PQgetisnull) each(PQgetlength) each(PQgetResult) each(PQgetvalue) each(PQisBusy) each(PQlibVersion) \
    each(PQnfields) each(PQnotifies) each(PQntuples) each(PQparameterStatus) each(PQresultErrorField) \
    each(PQresultStatus) each(PQsendQueryParams) each(PQserverVersion) each(PQsetErrorVerbosity) \
    each(PQsetnonblocking) each(PQsetNoticeReceiver) each(PQsocket) each(PQstatus) each(PQtransactionStatus)

#define GATEHOUSE_LIBPQ_FIELD(name) __typeof__(name) *name;
struct gatehouse_libpq {
    GATEHOUSE_LIBPQ(GATEHOUSE_LIBPQ_FIELD)
};

// Returns the name of a function that the library lacks, or null.
static inline const char *gatehouse_libpq_load(struct gatehouse_libpq *library, void *handle) {
#define GATEHOUSE_LIBPQ_LOAD(name) \
    if ((library->name = (__typeof__(name) *)dlsym(handle, #name)) == NULL) return #name;
    GATEHOUSE_LIBPQ(GATEHOUSE_LIBPQ_LOAD)
#undef GATEHOUSE_LIBPQ_LOAD
    return NULL;
}

// The keys of an error's fields are macros of characters, which Swift does not import.
enum { gatehouse_field_sqlstate = PG_DIAG_SQLSTATE, gatehouse_field_message = PG_DIAG_MESSAGE_PRIMARY };
enum { gatehouse_field_constraint = PG_DIAG_CONSTRAINT_NAME };

// Swift cannot call variadic C functions. Bytes that wait to be read; 0 where the system cannot say.
static inline int gatehouse_waiting_bytes(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}

#endif
