/* The trained networks that come with the program: their list, their cards, and packing more. */
#include "systems/public/models.h"
#include "engine/base/text.h"
#include "tools/commands/command.h"

#include <string.h>
#include <sys/stat.h>

static void print_row(struct arena *arena, const char *folder, const char *name, const char *card) {
  struct stat status = {0};
  stat(arena_text(arena, "%s/%s.h5", folder, name), &status);
  const char *values[] = {models_card_value(card, "kind", arena), models_card_value(card, "data", arena),
                          models_card_value(card, "scores", arena)};
  printf("%-26s %7.2f MB  %s\n", text_shown(arena, name), (double)status.st_size / 1e6,
         text_shown(arena, values[0]));
  printf("%-26s   of %s\n%-26s   %s\n", "", text_shown(arena, values[1]), "", text_shown(arena, values[2]));
}

static bool list_all(struct call *call, const char *folder, struct error *error) {
  const char *const *names, *card;
  size_t count;
  if (!models_list(folder, call->arena, &names, &count, error)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!models_card(folder, names[i], call->arena, &card, error)) return false;
    print_row(call->arena, folder, names[i], card);
  }
  printf("`l2sr models NAME` shows a card; --reconstructor zoo:NAME (--policy, --masks, --set sampler.mask) "
         "opens one\n");
  return true;
}

static bool show_card(struct call *call, const char *folder, struct error *error) {
  const char *name = call->operand[0], *path, *card;
  if (!strncmp(name, "zoo:", 4)) name += 4;
  if (!models_file(folder, name, call->arena, &path, error) ||
      !models_card(folder, name, call->arena, &card, error))
    return false;
  struct text_guard guard;
  FILE *shown = text_guard_open(&guard, stdout);
  if (!shown) return fail_memory(error, "no memory to print a card");
  fprintf(shown, "%s", card);
  int bad = text_guard_finish(&guard);
  fclose(shown);
  printf("file: %s\n", text_shown(call->arena, path));
  return !bad || fail_file(error, "the card cannot be printed");
}

/* A file is written beside it and takes its name: no device may have that, nor the checkpoint itself, nor another file. */
static bool check_output(const char *pack, const char *output, struct error *error) {
  struct stat from, to;
  if (stat(output, &to)) return true;
  if (!S_ISREG(to.st_mode)) return fail_usage(error, "--output %s is no file; name one that is to be written", output);
  if (!stat(pack, &from) && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
    return fail_usage(error, "--output %s is the checkpoint that is packed, which would be lost; name another file", output);
  return fail_usage(error, "--output %s is there already; remove it, or name another file", output);
}

static bool run_models(struct call *call, struct error *error) {
  const char *pack = call_flag(call, "pack"), *output = call_flag(call, "output");
  const char *folder = models_folder(call->arena, call_scenes(call->arena));
  if (!pack != !output) return fail_usage(error, "--pack CHECKPOINT and --output FILE go together");
  if (pack && call->operand_count) return fail_usage(error, "--pack takes no NAME");
  if (pack && (!check_output(pack, output, error) || !models_pack(pack, output, error))) return false;
  if (pack) printf("written: %s\n", text_shown(call->arena, output));
  return pack || (call->operand_count ? show_card : list_all)(call, folder, error);
}

static const struct flag flags[] = {
    {"pack", "CHECKPOINT", NULL, "writes what scans need of a checkpoint in half precision, to pass it on"},
    {"output", "FILE", NULL, "where --pack writes it"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_models = {
    .name = "models",
    .operands = "[NAME]",
    .doc = "lists the trained networks and masks that come with the program; shows the card of one",
    .more = "A card tells the data, their licence, the scene, the commands, the seed, the scores on test "
            "slices and the SHA-256 of "
            "the file, which is checked whenever zoo:NAME opens it.\n"
            "--pack CHECKPOINT --output FILE leaves optimiser and log out and stores parameters in half "
            "precision: a sixth of the bytes. "
            "The file is a checkpoint as any other, but no training goes on from it (--resume); train.start "
            "and learn.start do.",
    .operands_most = 1,
    .flags = flags,
    .run = run_models,
};
