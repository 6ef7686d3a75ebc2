/* What a program says of ranges of managed memory, and asks for again. */
#ifndef SMK_RUNTIME_RANGES_H
#define SMK_RUNTIME_RANGES_H

/* Forgets what was said of an allocation, which is freed. */
void smk_ranges_forget(const void *allocation);

#endif
