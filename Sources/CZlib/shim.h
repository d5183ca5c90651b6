#ifndef GATEHOUSE_CZLIB_SHIM_H
#define GATEHOUSE_CZLIB_SHIM_H

#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. A negative size of the window stands for data without a header.
static inline int gatehouse_inflate_init_raw(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }

#endif
