/* Asks smk_plan_choose of the tables that it is compiled with. A line of standard input each:
 *   capability multiprocessors shared_bytes_max family type dimension...
 * and a line of standard output: the row that is taken and the blocks of its first launch, or what it says instead. */
#include "registry/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer(char *line)
{
    smk_error error = {0};
    smk_signature signature;
    smk_plan plan;
    smk_machine machine = {0};
    int64_t dimensions[SMK_DIMENSIONS_MAX] = {0};
    const char *words[SMK_DIMENSIONS_MAX + 5] = {NULL};
    size_t count = 0;
    for (char *word = strtok(line, " \n"); word != NULL && count < SMK_DIMENSIONS_MAX + 5; word = strtok(NULL, " \n")) {
        words[count++] = word;
    }
    const smk_family *family = smk_registry_find_family(words[3]);
    if (count < 5 || family == NULL || smk_signature_parse(family->signature, &signature, &error) != SMK_OK ||
        count != 5 + signature.dimension_count) {
        printf("malformed\n");
        return;
    }
    machine.capability = atoi(words[0]);
    machine.multiprocessors = (uint32_t)strtoul(words[1], NULL, 10);
    machine.shared_bytes_max = (size_t)strtoul(words[2], NULL, 10);
    for (size_t i = 0; i + 5 < count; i++) {
        dimensions[i] = (int64_t)strtoll(words[i + 5], NULL, 10);
    }
    smk_request request = {
        .family = family,
        .signature = &signature,
        .dimensions = dimensions,
        .choice = "",
        .type = words[4],
        .item_bytes = strcmp(words[4], "float64") == 0 ? 8 : 4,
        .machine = &machine,
    };
    smk_status status = smk_plan_choose(&request, &plan, &error);
    if (status != SMK_OK) {
        printf("status %d: %s\n", (int)status, error.message);
    } else {
        const smk_dim3 grid = plan.step[0].grid;
        const uint64_t blocks = plan.step_count == 0 ? 0 : (uint64_t)grid.x * grid.y * grid.z;
        printf("%s %" PRIu64 "\n", request.variant->name, blocks);
    }
}

int main(void)
{
    char line[512];
    while (fgets(line, sizeof line, stdin) != NULL) {
        answer(line);
    }
    return 0;
}
