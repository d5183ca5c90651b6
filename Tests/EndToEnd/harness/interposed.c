/* Stands between a process under test and the C library (LD_PRELOAD): a time of day that the test sets, and steps on
   files that the test counts, and of which one ends the process, fails or waits. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* By how many seconds the time of day is wrong: shared with the test. */
static volatile int64_t *offset;
static const char *watched, *journal, *action, *held, *gate;
static long chosen;
static long steps;

__attribute__((constructor)) static void begin(void) {
    const char *clock = getenv("INTERPOSED_CLOCK");
    if (clock) {
        int descriptor = open(clock, O_RDONLY | O_CLOEXEC);
        void *page = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, descriptor, 0);
        if (descriptor < 0 || page == MAP_FAILED) abort();
        close(descriptor);
        offset = page;
    }
    watched = getenv("INTERPOSED_DIRECTORY");
    journal = getenv("INTERPOSED_STEPS");
    action = getenv("INTERPOSED_ACTION");
    held = getenv("INTERPOSED_HELD");
    gate = getenv("INTERPOSED_GATE");
    chosen = getenv("INTERPOSED_STEP") ? atol(getenv("INTERPOSED_STEP")) : 0;
}

/* Time. */

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *offset;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

/* Files. */

/* Notes a step on a file of the watched directory, or the directory; returns whether it is to fail. */
static int step(const char *name, const char *path) {
    if (!watched || !path || strncmp(path, watched, strlen(watched)) != 0) return 0;
    long number = __atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST);
    if (journal) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
        int descriptor = (int)syscall(SYS_openat, AT_FDCWD, journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (write(descriptor, line, (size_t)length) != length) abort();
        close(descriptor);
    }
    if (number != chosen || !action) return 0;
    if (strcmp(action, "kill") == 0) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
    }
    errno = ENOSPC;
    return 1;
}

static int stepOf(const char *name, int descriptor) {
    char link[64], path[PATH_MAX + 1];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX);
    if (length < 0) return 0;
    path[length] = 0;
    return step(name, path);
}

int rename(const char *from, const char *to) {
    if (step("rename", to)) return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int fromDirectory, const char *from, int toDirectory, const char *to, unsigned flags) {
    if (step("rename", to)) return -1;
    return (int)syscall(SYS_renameat2, fromDirectory, from, toDirectory, to, flags);
}

int unlink(const char *path) {
    if (step("unlink", path)) return -1;
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int fsync(int descriptor) {
    if (stepOf("fsync", descriptor)) return -1;
    return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    if (stepOf("fsync", descriptor)) return -1;
    return (int)syscall(SYS_fdatasync, descriptor);
}

/* The process goes on when the test has opened the gate for writing. */
static void hold(const char *path) {
    size_t length = strlen(path), end = held && gate ? strlen(held) : length + 1;
    if (length < end || strcmp(path + length - end, held) != 0) return;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, gate, O_RDONLY | O_CLOEXEC, 0);
    if (descriptor >= 0) close(descriptor);
}

static int opened(const char *path, int flags, mode_t mode) {
    int makes = flags & O_CREAT && faccessat(AT_FDCWD, path, F_OK, 0) != 0;
    if (makes && step("create", path)) return -1;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (makes && descriptor >= 0) hold(path);
    return descriptor;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return opened(path, flags, mode);
}
