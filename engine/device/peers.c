#include "engine/device/peers.h"

#include "engine/base/handover.h"

#include <string.h>
#include <unistd.h>

enum { PARTNERS_MOST = 6 }; /* 2^6 = RANKS_MOST */

/* What a rank tells the others. All bytes count; what is not set is 0. */
struct introduction {
  char reason[512], host[64]; /* why not; "": nothing is against it */
  struct handover_name name;
  unsigned char uuid[CUDA_UUID];
};

struct peers {
  struct arena *arena;
  struct device *device;
  struct cuda *cuda;
  struct cuda_memory mail, taken, partner[PARTNERS_MOST];
  struct handover handover;
  struct introduction *all;
};

cl_mem peers_mail(const struct peers *peers) {
  return cuda_memory_buffer(&peers->mail);
}

cl_mem peers_taken(const struct peers *peers) {
  return cuda_memory_buffer(&peers->taken);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static bool open_own(struct peers *peers, size_t mail, size_t taken, struct error *error) {
  struct device *device = peers->device;
  if (device->facts.maker != MAKER_NVIDIA)
    return fail(error, "%s is no card of NVIDIA's", device->facts.name);
  return cuda_open(&peers->cuda, device, peers->arena, error) &&
         cuda_memory_open(peers->cuda, &peers->mail, mail, "gradients that ranks exchange", peers->arena, error) &&
         cuda_memory_open(peers->cuda, &peers->taken, taken, "gradients that ranks exchange", peers->arena, error) &&
         handover_open(&peers->handover, error);
}

/* Whether none has anything against it; the first that has says what. */
static bool all_agree(struct peers *peers, struct error *reason) {
  struct ranks *ranks = peers->device->ranks;
  ranks_unite(ranks, peers->all, ranks->count * sizeof *peers->all);
  for (uint32_t r = 0; r < ranks->count; r++) {
    const struct introduction *one = &peers->all[r];
    if (*one->reason) return fail(reason, "rank %u: %s", r, one->reason);
    if (strcmp(one->host, peers->all->host)) return fail(reason, "ranks are on several hosts, %s and %s", peers->all->host, one->host);
  }
  return true;
}

static struct introduction *clear(struct peers *peers) {
  struct ranks *ranks = peers->device->ranks;
  memset(peers->all, 0, ranks->count * sizeof *peers->all);
  return &peers->all[ranks->rank];
}

static bool introduce(struct peers *peers, bool good, const struct error *error, struct error *reason) {
  struct introduction *own = clear(peers);
  if (!good) snprintf(own->reason, sizeof own->reason, "%.500s", error->text);
  gethostname(own->host, sizeof own->host - 1);
  own->name = peers->handover.name;
  cuda_uuid(peers->device, own->uuid);
  return all_agree(peers, reason);
}

static bool lend(struct peers *peers, struct error *error) {
  const struct ranks *ranks = peers->device->ranks;
  int file;
  if (!cuda_memory_lend(peers->cuda, &peers->mail, &file, error)) return false;
  bool good = true;
  for (uint32_t bit = 1; good && bit < ranks->count; bit *= 2)
    good = handover_give(&peers->handover, &peers->all[ranks->rank ^ bit].name, ranks->rank, file, error);
  close(file);
  return good;
}

/* In the order in which partners hand it over. */
static bool borrow(struct peers *peers, struct error *error) {
  const struct ranks *ranks = peers->device->ranks;
  uint32_t rank;
  int file;
  for (uint32_t bit = 1; bit < ranks->count; bit *= 2) {
    if (!handover_take(&peers->handover, &rank, &file, error)) return false;
    uint32_t place = 0;
    while (place < PARTNERS_MOST && (rank ^ ranks->rank) != 1u << place) place++;
    bool good = place < PARTNERS_MOST && rank < ranks->count
                    ? cuda_memory_borrow(peers->cuda, &peers->partner[place], peers->all[rank].uuid, peers->mail.bytes, file,
                                         peers->arena, error)
                    : fail(error, "rank %u hands over memory, and is no partner", rank);
    close(file);
    if (!good) return false;
  }
  return true;
}

static bool open_all(struct peers *peers, size_t mail, size_t taken, bool wants, struct error *reason) {
  struct error error;
  bool good = wants ? open_own(peers, mail, taken, &error) : fail(&error, "train.exchange is host");
  if (!introduce(peers, good, &error, reason)) return false;
  good = lend(peers, &error) && borrow(peers, &error);
  struct introduction *own = clear(peers);
  if (!good) snprintf(own->reason, sizeof own->reason, "%.500s", error.text);
  return all_agree(peers, reason);
}

bool peers_open(struct peers **opened, struct device *device, size_t mail, size_t taken, bool wants, struct error *reason) {
  struct arena *arena = arena_open();
  struct peers *peers = ARENA_NEW(arena, struct peers, 1);
  *peers = (struct peers){
      .arena = arena, .device = device, .all = ARENA_NEW(arena, struct introduction, ranks_count(device->ranks))};
  if (open_all(peers, mail, taken, wants, reason)) {
    *opened = peers;
    return true;
  }
  peers_close(peers);
  return false;
}

/* At any stage of opening. A partner that has mapped this rank's memory keeps it until it lets go. */
void peers_close(struct peers *peers) {
  if (!peers) return;
  handover_close(&peers->handover);
  for (size_t i = 0; i < PARTNERS_MOST; i++) cuda_memory_close(peers->cuda, &peers->partner[i]);
  cuda_memory_close(peers->cuda, &peers->taken);
  cuda_memory_close(peers->cuda, &peers->mail);
  cuda_close(peers->cuda);
  arena_close(peers->arena);
}

/* ---- at work ------------------------------------------------------------------------------------------- */

void peers_meet(struct peers *peers, uint32_t bit) {
  struct device *device = peers->device;
  uint32_t give = 0, take;
  CL(device, clFinish(device->queue));
  ranks_exchange(device->ranks, device->ranks->rank ^ bit, &give, &take, sizeof take);
}

static void copy(struct peers *peers, const struct cuda_memory *to, size_t at, uint32_t bit, size_t from, size_t bytes) {
  struct error error;
  uint32_t place = 0;
  while (1u << place != bit) place++;
  if (!peers->device->failed && !cuda_copy(peers->cuda, to->address + at, peers->partner[place].address + from, bytes, &error))
    device_fail(peers->device, error.code, "%s", error.text);
}

void peers_take(struct peers *peers, uint32_t bit, size_t from, size_t bytes) {
  copy(peers, &peers->taken, 0, bit, from, bytes);
}

void peers_collect(struct peers *peers, uint32_t bit, size_t from, size_t bytes) {
  copy(peers, &peers->mail, from, bit, from, bytes);
}
