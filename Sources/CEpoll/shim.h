#ifndef GATEHOUSE_CEPOLL_SHIM_H
#define GATEHOUSE_CEPOLL_SHIM_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// Linux's own, which Swift's Glibc module leaves out.
int pthread_setname_np(pthread_t thread, const char *name);
int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags);

static inline int gatehouse_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

static inline int gatehouse_stream_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// An address of the network. Swift's modules disagree on whose `sockaddr_in` is.
struct gatehouse_address {
    // The first 4 bytes with IPv4, all 16 with IPv6, in network order; 0 bytes for any other kind.
    uint8_t bytes[16];
    uint32_t size;
    uint32_t scope;
    uint16_t port;
};

static inline struct gatehouse_address gatehouse_address_of(const struct sockaddr_storage *from) {
    struct gatehouse_address address = {{0}, 0, 0, 0};
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)from;
        memcpy(address.bytes, &four->sin_addr, 4);
        address.size = 4;
        address.port = ntohs(four->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
        memcpy(address.bytes, &six->sin6_addr, 16);
        address.size = 16;
        address.scope = six->sin6_scope_id;
        address.port = ntohs(six->sin6_port);
    }
    return address;
}

static inline int gatehouse_accept(int socket, struct gatehouse_address *peer) {
    struct sockaddr_storage storage;
    socklen_t size = sizeof storage;
    storage.ss_family = AF_UNSPEC;
    int accepted = accept4(socket, (struct sockaddr *)&storage, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0) *peer = gatehouse_address_of(&storage);
    return accepted;
}

static inline int gatehouse_bound_address(int socket, struct gatehouse_address *address) {
    struct sockaddr_storage storage;
    socklen_t size = sizeof storage;
    int code = getsockname(socket, (struct sockaddr *)&storage, &size);
    if (code == 0) *address = gatehouse_address_of(&storage);
    return code;
}

#endif
