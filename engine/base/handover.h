/* Open files that processes of one host pass to each other: Linux's datagram sockets with names that no folder has. */
#ifndef L2SR_ENGINE_HANDOVER_H
#define L2SR_ENGINE_HANDOVER_H

#include "engine/base/error.h"

#include <stdint.h>

/* By which others find a place where files are handed over; its secret keeps strangers out. */
struct handover_name {
  char socket[16];
  uint64_t secret;
};

struct handover {
  int socket; /* what is zeroed is not open */
  bool open;
  struct handover_name name;
};

bool handover_open(struct handover *handover, struct error *error);
void handover_close(struct handover *handover); /* also where it is not open */
/* Hands an open file to `to`, with a number that says what it is; the own one stays open. */
bool handover_give(const struct handover *handover, const struct handover_name *to, uint32_t number, int file, struct error *error);
/* Waits for the next, at most 20 seconds. The caller closes it. */
bool handover_take(const struct handover *handover, uint32_t *number, int *file, struct error *error);

#endif
