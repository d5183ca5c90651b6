// Tells the thread sanitizer of two orders that Swift's runtime keeps and the sanitizer cannot see, because the runtime's
// libraries are not instrumented. Without them it reports, now and then, races that are none. Each function stands before
// the runtime's of the same name, does what that does, and says what it has ordered. As of Swift 6.3.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// A contended Synchronization.Mutex. Its fast paths are compiled into the code that locks, and the sanitizer sees their
// atomics; when threads contend, the lock passes from one to the other in the kernel (FUTEX_UNLOCK_PI, FUTEX_LOCK_PI).
// A Mutex is known by the address of its futex word, which is that of the atomics too.
// stdlib/public/Synchronization/Mutex/LinuxImpl.swift

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void (*LockSlow)(uint32_t thread, SELF mutex);
typedef SWIFT void (*UnlockSlow)(SELF mutex);

SWIFT void lockSlow(uint32_t thread, SELF mutex) __asm__(LOCK_SLOW);
SWIFT void unlockSlow(SELF mutex) __asm__(UNLOCK_SLOW);

SWIFT void lockSlow(uint32_t thread, SELF mutex) {
    LockSlow original = (LockSlow)dlsym(RTLD_NEXT, LOCK_SLOW);
    original(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT void unlockSlow(SELF mutex) {
    UnlockSlow original = (UnlockSlow)dlsym(RTLD_NEXT, UNLOCK_SLOW);
    __tsan_release(mutex);
    original(mutex);
}

// A continuation that was resumed before its task awaits it. Resuming tells the sanitizer so of the task; a task that was
// suspended is told when it runs again, but one that finds the result there goes on without.
// stdlib/public/Concurrency/Task.cpp

#define ASYNC __attribute__((swiftasynccall))

typedef ASYNC void (*Await)(void *context);

SWIFT void *swift_task_getCurrent(void);
ASYNC void swift_continuation_await(void *context);

ASYNC void swift_continuation_await(void *context) {
    Await original = (Await)dlsym(RTLD_NEXT, "swift_continuation_await");
    __tsan_acquire(swift_task_getCurrent());
    return original(context);
}
