/* What probe.c and probe_serve.c say to each other over a stream: a question is its head, path and name; an
 * answer its head and a text. Texts end in a zero byte, which counts. */
#ifndef L2SR_ENGINE_PROBE_MESSAGE_H
#define L2SR_ENGINE_PROBE_MESSAGE_H

#include <stdint.h>

struct probe_question {
  uint32_t path, name; /* bytes; a name of 0: look at the file */
};

enum probe_kind { PROBE_GOOD, PROBE_NONE /* no such text */, PROBE_MEMORY /* the limit was met */ };

struct probe_answer {
  uint32_t kind, bytes;
};

#endif
