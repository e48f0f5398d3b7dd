/* Device memory of ranks of one host that they read from each other without the host: NVIDIA cards whose memory CUDA
 * shares between processes (engine/device/cuda.h). A rank's partners are those whose numbers differ from its own in one
 * bit. All calls are made by every rank alike. */
#ifndef L2SR_ENGINE_PEERS_H
#define L2SR_ENGINE_PEERS_H

#include "engine/device/cuda.h"

struct peers; /* opaque: peers.c */

/* `mail`: bytes that partners read from this rank; `taken`: of what it copies for itself. On every rank, or on none: then
 * the reason is the first rank's that has one. `wants`: this rank would have it. */
bool peers_open(struct peers **peers, struct device *device, size_t mail, size_t taken, bool wants, struct error *reason);
void peers_close(struct peers *peers); /* NULL: none are open */

cl_mem peers_mail(const struct peers *peers);
cl_mem peers_taken(const struct peers *peers);

/* Waits until the queue is done, and the rank whose number differs in `bit` as well: what was written to both mails
 * before is there. */
void peers_meet(struct peers *peers, uint32_t bit);
/* Copies from that rank's mail into what is taken here, or to the same place of the own mail, and waits for it. What fails
 * is kept as a failed enqueue is. */
void peers_take(struct peers *peers, uint32_t bit, size_t from, size_t bytes);
void peers_collect(struct peers *peers, uint32_t bit, size_t from, size_t bytes);

#endif
