/* What probe.c and probe_serve.c say to each other over a stream: the child says once that it is ready; a
 * question is its head, path and name; an answer its head and a text. Texts end in a zero byte, which counts.
 */
#ifndef L2SR_ENGINE_PROBE_MESSAGE_H
#define L2SR_ENGINE_PROBE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_READY = 0x6c327372 }; /* as uint32_t */

struct probe_question {
  uint32_t path, name; /* bytes; a name of 0: look at the file */
};

enum probe_kind { PROBE_GOOD, PROBE_NONE /* no such text */, PROBE_MEMORY /* the limit was met */ };

struct probe_answer {
  uint32_t kind, bytes;
};

/* All of the bytes; false: the other one has ended. (probe.c) */
bool probe_send(int socket, const void *data, size_t bytes);

#endif
