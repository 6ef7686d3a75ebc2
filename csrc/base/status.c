#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

smk_status smk_status_fail(smk_error *error, smk_status status, const char *format, ...)
{
    if (error != NULL) {
        memset(error, 0, sizeof *error);
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

const char *smk_status_name(smk_status status)
{
    switch (status) {
    case SMK_OK:
        return "OK";
#define SMK_STATUS(id, class_name, base, mixin, sentence)                                                              \
    case SMK_##id:                                                                                                     \
        return #id;
#include "base/status.def"
#undef SMK_STATUS
    case SMK_STATUS_COUNT:
        break;
    }
    return "?";
}
