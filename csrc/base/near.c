#include "base/near.h"

#include <stdint.h>
#include <string.h>

enum { LENGTH_MAX = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t smk_near_distance(const char *word, const char *other)
{
    const size_t rows = strlen(word), columns = strlen(other);
    size_t cost[3][LENGTH_MAX]; /* of the row before the last, the last, and the present one */
    size_t *above = cost[0], *last = cost[1], *row = cost[2];
    if (rows >= LENGTH_MAX || columns >= LENGTH_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= columns; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= rows; i++) {
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (word[i - 1] != other[j - 1]));
            if (i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1]) {
                row[j] = least(row[j], above[j - 2] + 1);
            }
        }
        size_t *free_row = above;
        above = last;
        last = row;
        row = free_row;
    }
    return last[columns];
}

bool smk_near_is_meant(const char *word, size_t distance)
{
    const size_t allowed = strlen(word) / 3;
    return distance <= (allowed == 0 ? 1 : allowed) && distance < strlen(word);
}
