// SwiftPM wants a source file of each C target.
#include "CBoringSSL.h"
