/* The log of errors, which programs read, write to files, or are called back with. */
#ifndef SMK_RUNTIME_LOG_H
#define SMK_RUNTIME_LOG_H

/* Adds a message: a line without its end. */
void smk_log_add(const char *message);

#endif
