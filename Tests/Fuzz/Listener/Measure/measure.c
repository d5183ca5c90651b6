#include "measure.h"
#include <malloc.h>
#include <time.h>

/// libFuzzer takes what this section holds for coverage, beside that of the instrumented code.
__attribute__((section("__libfuzzer_extra_counters"))) static struct {
    uint8_t costs[4 * 64];
    uint8_t outcomes[1 << 10];
} counters;

size_t live_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

uint64_t processor_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void report_cost(unsigned kind, uint64_t cost) {
    if (kind >= 4 || cost == 0) return;
    counters.costs[kind * 64 + (63 - __builtin_clzll(cost))] = 1;
}

void report_outcome(uint64_t outcome) { counters.outcomes[outcome % sizeof counters.outcomes] = 1; }
