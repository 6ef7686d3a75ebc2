#include "ptx/parts.h"

#include "ptx/module.h"

uint16_t smk_parts_read(smk_text word)
{
    enum { PARTS_MAX = 4 };
    const bool halves = word.length > 1 && word.start[1] == 'h';
    const size_t count = word.length < 3 ? 0 : word.length - 2;
    unsigned parts = 0;
    if (count == 0 || count > PARTS_MAX || (!halves && word.start[1] != 'b')) {
        return 0;
    }
    for (size_t i = 2; i < word.length; i++) {
        if (word.start[i] < '0' || word.start[i] > '7') {
            return 0;
        }
        parts = parts << SMK_SELECT_BITS | (unsigned)(word.start[i] - '0');
    }
    return (uint16_t)((halves ? SMK_SELECT_HALVES : 0) | (unsigned)count << SMK_SELECT_COUNT_SHIFT | parts);
}
