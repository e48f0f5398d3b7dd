/* Files of reference vectors, as `l2sr verify` reads them before it runs anything: of acquisitions, metrics,
 * networks, policies and advantages. */
#include "systems/checks/verify.h"
#include "systems/networks/net_policy.h"
#include "systems/networks/net_unet.h"
#include "tests/fuzz/fuzz.h"

enum { COUNT = 2, N = 8, STEPS = 3, HIDDEN = 4 };

static const float zeros[4096];

static void put(struct store *store, const char *name, int rank, const size_t *size) {
  struct error error;
  FUZZ_MUST(store_write(store, name, STORE_F32, rank, size, zeros, false, &error));
}

/* Each of COUNT rows, or of so many for each of them. */
static void put_rows(struct store *store, const char *const *names, size_t each) {
  for (; *names; names++) put(store, *names, each > 1 ? 2 : 1, (size_t[]){COUNT, each});
}

static void put_images(struct store *store, const char *const *names) {
  for (; *names; names++) put(store, *names, 3, (size_t[]){COUNT, N, N});
}

static void put_numbers(struct store *store, const char *const *names, double value) {
  struct error error;
  for (; *names; names++) FUZZ_MUST(store_put_number(store, *names, value, &error));
}

static void put_groups(struct store *store, const char *const *groups, const struct graph *graph) {
  struct arena *arena = arena_open();
  for (; *groups; groups++)
    for (int i = 0; i < graph->parameters; i++)
      put(store, arena_text(arena, "%s/%s", *groups, graph->parameter[i].name), graph->parameter[i].rank,
          graph->parameter[i].size);
  arena_close(arena);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void put_acquisition(struct store *store) {
  put_images(store, NAMES("image", "kspace_re", "kspace_im", "zero_filled", "observation", "target"));
  put_rows(store, NAMES("mask"), N);
  put_rows(store, NAMES("observation_mean", "observation_std", "target_mean", "target_std"), 1);
}

static void put_metrics(struct store *store) {
  put_images(store, NAMES("reference", "distorted"));
  put_rows(store,
           NAMES("data_range", "ssim_gaussian11", "ssim_uniform7", "psnr_clamped", "psnr", "nmse", "mse"), 1);
}

static void put_network(struct store *store) {
  struct graph *graph;
  graph_open(&graph);
  net_unet(graph, graph_input(graph, "input", 1, N, N), 2, 1);
  put_images(store, NAMES("input", "output", "target_denormalised"));
  put_rows(store, NAMES("target_mean", "target_std", "data_range"), 1);
  put(store, "losses", 1, (size_t[]){STEPS});
  put_numbers(store, NAMES("chans"), 2);
  put_numbers(store, NAMES("num_pool_layers"), 1);
  put_groups(store, NAMES("param", "grad", "param_after_3_steps"), graph);
  graph_close(graph);
}

static void put_policy(struct store *store) {
  struct graph *graph;
  graph_open(&graph);
  net_policy_heads(graph, net_policy_maps(graph, graph_input(graph, "observation", 1, N, N), 1, 1),
                   graph_input(graph, "mask", N, 1, 1), HIDDEN);
  put_images(store, NAMES("observation"));
  put_rows(store, NAMES("mask", "encoder_output"), N);
  put_rows(store, NAMES("action", "advantage", "return", "value", "entropy", "log_prob"), 1);
  put(store, "loss", 1, (size_t[]){1});
  put(store, "grad_norm", 1, (size_t[]){1});
  put_numbers(store, NAMES("chans", "num_pool_layers", "ent_coef", "vf_coef"), 1);
  put_numbers(store, NAMES("fc_size"), HIDDEN);
  put_groups(store, NAMES("param", "grad", "param_after_2_steps"), graph);
  graph_close(graph);
}

static void put_advantages(struct store *store) {
  put(store, "last_value", 1, (size_t[]){N});
  put(store, "last_done", 1, (size_t[]){N});
  put_rows(store, NAMES("reward", "value", "episode_start", "advantage", "return"), N);
  put_numbers(store, NAMES("gamma", "lambda"), 0.9);
}

static void write_good(void (*fill)(struct store *store)) {
  struct store *store;
  struct error error;
  FUZZ_MUST(store_create(&store, fuzz_path("good.h5"), &error));
  fill(store);
  FUZZ_MUST(store_commit(store, &error));
  fuzz_take();
}

static void make_goods(void) {
  struct verify verify = {.device = NULL};
  struct error error;
  void (*const kinds[])(struct store *) = {put_acquisition, put_metrics, put_network, put_policy,
                                           put_advantages};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    write_good(kinds[i]);
    FUZZ_MUST(verify_file(&verify, fuzz_path("good.h5"), &error));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool ready;
  struct verify verify = {.device = NULL};
  struct error error;
  if (!ready) make_goods();
  ready = true;
  verify_file(&verify, fuzz_change(data, size), &error);
  return 0;
}
