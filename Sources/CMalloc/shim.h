#ifndef GATEHOUSE_CMALLOC_SHIM_H
#define GATEHOUSE_CMALLOC_SHIM_H

// Which Swift's Glibc leaves out.
#include <malloc.h>

#endif
