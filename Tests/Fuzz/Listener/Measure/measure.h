#pragma once
#include <stddef.h>
#include <stdint.h>

/// The bytes that this process has allocated and not freed.
size_t live_bytes(void);

/// The processor time that this process has used, in nanoseconds.
uint64_t processor_nanoseconds(void);

/// Tells libFuzzer that the input cost as much as this; a power of two more counts as new coverage.
void report_cost(unsigned kind, uint64_t cost);

/// Tells libFuzzer that the input brought about this; what is new counts as new coverage. Only the low bits count.
void report_outcome(uint64_t outcome);
