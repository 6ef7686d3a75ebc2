/* The known word that a misspelt one is like, for messages. */
#ifndef SMK_BASE_NEAR_H
#define SMK_BASE_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/* Insertions, deletions, replacements and exchanges of neighbours that make one word of the other: the optimal string
 * alignment distance. SIZE_MAX for words of 64 characters and more. */
size_t smk_near_distance(const char *word, const char *other);

/* Is a word at this distance so near that it may be meant? A third of its letters may be wrong. */
bool smk_near_is_meant(const char *word, size_t distance);

#endif
