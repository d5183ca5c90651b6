// Filled by the first vertical slice.
