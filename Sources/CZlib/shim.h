#ifndef GATEHOUSE_CZLIB_SHIM_H
#define GATEHOUSE_CZLIB_SHIM_H

#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. A negative size of the window stands for data without a header.
static inline int gatehouse_inflate_init_raw(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }

// deflateInit2 is a macro as well. A window of 8 KiB (13 bits) with the gzip header, which 16 stands for, and tables of 32
// KiB (level 6 of memory).
static inline int gatehouse_deflate_init_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 16 + 13, 6, Z_DEFAULT_STRATEGY);
}

#endif
