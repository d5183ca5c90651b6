#ifndef GATEHOUSE_CMALLOC_SHIM_H
#define GATEHOUSE_CMALLOC_SHIM_H

// Swift's Glibc leaves it out.
#include <malloc.h>

#endif
