#include "py/calls/place.h"

#include "py/calls/declaration.h"

#include <stdio.h>
#include <string.h>

static void write_text(smk_place *place)
{
    const smk_variable *parameter = &place->function->variables[place->function->result_count + place->index];
    const char *declared = smk_declaration_type(place->declaration, place->index);
    if (declared[0] != '\0') {
        const char *name = smk_declaration_name(place->declaration, place->index);
        const bool joined = name[0] == '\0' || declared[strlen(declared) - 1] == '*';
        (void)snprintf(place->text, SMK_PLACE_BYTES, "%.100s: args[%zu] (%.80s%s%.40s)", place->kernel, place->index,
                       declared, joined ? "" : " ", name);
        return;
    }
    const char *type = smk_module_type_name((smk_type)parameter->type);
    uint64_t element_bytes = smk_module_type_bits((smk_type)parameter->type) / 8;
    char length[32] = "";
    if (parameter->bytes != element_bytes && element_bytes > 0) {
        (void)snprintf(length, sizeof length, "[%llu]", (unsigned long long)(parameter->bytes / element_bytes));
    }
    (void)snprintf(place->text, SMK_PLACE_BYTES, "%.100s: args[%zu] (.%s %.*s%s)", place->kernel, place->index, type,
                   SMK_TEXT_PRINT(parameter->name), length);
}

const char *smk_place_text(smk_place *place)
{
    if (place->text[0] == '\0') {
        write_text(place);
    }
    return place->text;
}
