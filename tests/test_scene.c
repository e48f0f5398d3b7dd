#include "components/options.h"
#include "components/streams.h"
#include "engine/base/random.h"
#include "engine/files/scene.h"
#include "tests/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct folder folder;
static struct options options;
static const char *installed; /* the folder that every scene may extend from; NULL: none */

static int open_scene(void **state) {
  (void)state;
  support_open_folder(&folder);
  memset(&options, 0, sizeof options);
  option_defaults(&option_table, &options, folder.arena);
  installed = NULL;
  return 0;
}

static int close_scene(void **state) {
  (void)state;
  support_close_folder(&folder);
  return 0;
}

static bool read_scene(const char *name, struct error *error) {
  return scene_read(&option_table, &options, folder.arena, support_path(&folder, name), installed, error);
}

static void write_scene(const char *name, const char *text) {
  support_write_text(support_path(&folder, name), text);
}

static void expect_good(const char *text) {
  struct error error;
  write_scene("a.yaml", text);
  assert_good(read_scene("a.yaml", &error), &error);
}

/* The refusal names the file, the line (0: none to name) and holds `part`. */
static void expect_refusal(const char *text, int line, const char *part) {
  struct error error;
  write_scene("a.yaml", text);
  if (read_scene("a.yaml", &error)) fail_msg("accepted: %s", text);
  assert_holds(error.text, part);
  if (line) assert_holds(error.text, arena_text(folder.arena, "a.yaml:%d", line));
}

static const char good[] = "# an experiment\n"
                           "data:\n"
                           "  size: 64\n"
                           "  path: \"/data/knee: single\"\n"
                           "  fraction: 0.5\n"
                           "  strict: true\n"
                           "world: {envs: 8, seed: 7}\n"
                           "evaluate:\n"
                           "  samplers: [random, low_bias, 'poisson']\n"
                           "  metrics:\n"
                           "  - ssim\n"
                           "  - psnr\n";

static void a_good_file_is_applied(void **state) {
  (void)state;
  expect_good(good);
  assert_int_equal(options.data.size.width, 64);
  assert_string_equal(options.data.path, "/data/knee: single");
  assert_true(options.data.fraction == 0.5);
  assert_true(options.data.strict);
  assert_int_equal(options.world.envs, 8);
  assert_int_equal(options.world.seed, 7);
  assert_string_equal(options.evaluate.samplers, "random,low_bias,poisson");
  assert_string_equal(options.evaluate.metrics, "ssim,psnr");
  assert_int_equal(options.data.split, SPLIT_TEST); /* the file leaves it out, and it stays */
}

static void empty_files_change_nothing(void **state) {
  static const char *const texts[] = {"",           "\n\n", "# only a comment\n", "---\n",
                                      "---\n...\n", "{}\n", "data: {}\n"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    expect_good(texts[i]);
    assert_int_equal(options.data.size.width, 128);
  }
}

static void a_byte_order_mark_is_passed_over(void **state) {
  (void)state;
  expect_good("\xef\xbb\xbf"
              "data:\n  size: 96\n");
  assert_int_equal(options.data.size.width, 96);
}

static void line_ends_may_be_of_any_kind(void **state) {
  (void)state;
  expect_good("data:\r\n  size: 96\r\n  slices: centre\r\n");
  assert_int_equal(options.data.slices, SLICES_CENTRE);
  expect_good("data:\n  size: 64"); /* no newline at the end */
  assert_int_equal(options.data.size.width, 64);
}

static void extends_is_applied_first(void **state) {
  struct error error;
  (void)state;
  write_scene("base.yaml", "data: {size: 64, fraction: 0.5}\nworld: {seed: 1}\n");
  write_scene("middle.yaml", "extends: base.yaml\nworld: {seed: 2}\n");
  write_scene("top.yaml", "extends: middle.yaml\ndata: {size: 32}\n");
  assert_good(read_scene("top.yaml", &error), &error);
  assert_int_equal(options.data.size.width, 32);
  assert_true(options.data.fraction == 0.5);
  assert_int_equal(options.world.seed, 2);
}

/* Of several the later ones come over those before. */
static void several_are_extended_in_their_order(void **state) {
  struct error error;
  (void)state;
  write_scene("one.yaml", "data: {size: 64, fraction: 0.5}\nworld: {seed: 1}\n");
  write_scene("other.yaml", "data: {size: 96}\n");
  write_scene("top.yaml", "extends: [one, other.yaml]\nworld: {seed: 3}\n");
  assert_good(read_scene("top.yaml", &error), &error);
  assert_int_equal(options.data.size.width, 96);
  assert_true(options.data.fraction == 0.5);
  assert_int_equal(options.world.seed, 3);
}

static void extends_is_found_beside_the_file_or_by_its_whole_path(void **state) {
  struct error error;
  (void)state;
  assert_int_equal(mkdir(support_path(&folder, "sub"), 0777), 0);
  write_scene("base.yaml", "world: {seed: 5}\n");
  write_scene("sub/beside.yaml", "world: {envs: 9}\n");
  write_scene("sub/a.yaml", "extends: ../base.yaml\n");
  write_scene("sub/b.yaml", "extends: beside.yaml\n");
  write_scene("c.yaml", arena_text(folder.arena, "extends: %s\ndata: {size: 48}\n",
                                   support_path(&folder, "sub/b.yaml")));
  assert_good(read_scene("sub/a.yaml", &error), &error);
  assert_int_equal(options.world.seed, 5);
  assert_good(read_scene("c.yaml", &error), &error);
  assert_int_equal(options.world.envs, 9);
}

static void extends_is_found_in_the_folder_of_all(void **state) {
  struct error error;
  (void)state;
  assert_int_equal(mkdir(support_path(&folder, "installed"), 0777), 0);
  write_scene("installed/base.yaml", "world: {seed: 7}\n");
  write_scene("installed/top.yaml", "extends: base\n");
  write_scene("a.yaml", "extends: top\n");
  assert_false(read_scene("a.yaml", &error));
  installed = support_path(&folder, "installed");
  assert_good(read_scene("a.yaml", &error), &error);
  assert_int_equal(options.world.seed, 7);
  write_scene("top.yaml", "world: {seed: 8}\n"); /* the one beside the file comes first */
  assert_good(read_scene("a.yaml", &error), &error);
  assert_int_equal(options.world.seed, 8);
}

static void extends_is_refused_with_its_place(void **state) {
  (void)state;
  expect_refusal("extends: none.yaml\n", 1, "none.yaml: No such file");
  expect_refusal("data: {size: 64}\nextends: b.yaml\n", 2, "extends must be the first key");
  expect_refusal("extends: [none.yaml]\n", 1, "none.yaml: No such file");
  expect_refusal("extends: [[b.yaml]]\n", 1, "expected a single value");
  expect_refusal("extends: {b: 1}\n", 1, "expected a single value");
  expect_refusal("extends: a.yaml\n", 1, "a.yaml extends itself; break the circle");
  write_scene("b.yaml", "extends: ./a.yaml\n");
  expect_refusal("extends: b.yaml\n", 1, "b.yaml:1 extends: scene ");
  for (int i = 0; i < 8; i++)
    write_scene(arena_text(folder.arena, "%d.yaml", i),
                arena_text(folder.arena, "extends: %d.yaml\n", i + 1));
  expect_refusal("extends: 0.yaml\n", 1, "more than 8 deep");
  write_scene("b.yaml", "\n\ndata: {size: 1}\n");
  expect_refusal("# x\nextends: b.yaml\n", 2, "b.yaml:3; it must be a whole number from 32 to 1024");
}

static void keys_are_checked(void **state) {
  (void)state;
  expect_refusal("data:\n  size: 64\n  siez: 3\n", 3, "unknown key data.siez");
  expect_refusal("data: {}\nnope: {}\n", 2, "unknown section nope");
  expect_refusal("data:\n  siez: 3\n", 2, "did you mean data.size?");
  expect_refusal("dat:\n  size: 3\n", 2, "did you mean data.size?");
  expect_refusal("data:\n  size: 64\n  path: x\n  size: 65\n", 0, "data.size stands twice in");
  expect_refusal("data:\n  size: 64\n  path: x\n  size: 65\n", 0, "the second time at line 4");
  expect_refusal("data:\n  size: 64\nworld:\n  seed: 1\ndata:\n  path: x\n", 5, "section data stands twice");
  expect_refusal("? [data]\n: {size: 64}\n", 1, "expected a single value");
  expect_refusal("data:\n  ? {size: 1}\n  : 64\n", 2, "expected a single value");
}

static void anchors_aliases_and_tags_are_refused(void **state) {
  (void)state;
  expect_refusal("data:\n  size: &n 64\n", 2, "anchors and aliases are not allowed");
  expect_refusal("data: &d\n  size: 64\n", 1, "anchors and aliases");
  expect_refusal("evaluate:\n  samplers: &s [a]\n", 2, "anchors and aliases");
  expect_refusal("data:\n  size: *n\n", 2, "anchors and aliases");
  expect_refusal("*n : 3\n", 1, "anchors and aliases");
  expect_refusal("data:\n  size: !!int 64\n", 2, "tags are not allowed in a scene; remove the tag");
  expect_refusal("data: !!map\n  size: 64\n", 1, "tags are not allowed");
  expect_refusal("evaluate:\n  samplers: !!seq [a]\n", 2, "tags are not allowed");
  expect_refusal("!own\ndata: {size: 64}\n", 1, "tags are not allowed");
}

static void shapes_are_checked(void **state) {
  (void)state;
  expect_refusal("data:\n  size: {a: 64}\n", 2, "expected a single value");
  expect_refusal("data:\n  path:\n    deeper: 64\n", 3, "expected a single value");
  expect_refusal("evaluate:\n  samplers:\n  - {a: b}\n", 3, "expected a single value");
  expect_refusal("evaluate:\n  samplers: [[a]]\n", 2, "expected a single value");
  expect_refusal("data: 64\n", 1, "section data must hold key: value lines");
  expect_refusal("data:\n", 1, "section data must hold key: value lines");
  expect_refusal("data: [size, 64]\n", 1, "section data must hold key: value lines");
  expect_refusal("- data\n", 1, "a scene must be a mapping of sections");
  expect_refusal("size\n", 1, "a scene must be a mapping of sections");
}

static void values_are_checked(void **state) {
  (void)state;
  expect_refusal("data:\n  size: large\n", 2, "data.size is 'large'");
  expect_refusal("data:\n  size: 31\n", 2, "from 32 to 1024");
  expect_refusal("data:\n  size: [64, 31]\n", 2, "data.size is '64,31'");
  expect_refusal("data:\n  size:\n", 2, "data.size is ''");
  expect_refusal("data:\n  strict: yes\n", 2, "it must be true or false");
  expect_refusal("data:\n\n  split: tset\n", 3, "it must be one of train|val|test|all");
}

static void broken_yaml_is_refused(void **state) {
  (void)state;
  expect_refusal("data:\n  size: 64\n bad: 1\n", 3, "the file must be YAML");
  expect_refusal("data: {size: 64\n", 0, "the file must be YAML");
  expect_refusal("data:\n\tsize: 64\n", 2, "the file must be YAML");
  expect_refusal("data: \"open\n", 0, "the file must be YAML");
  expect_refusal("\x89HDF\r\n\x1a\n", 0, "the file must be YAML");
  expect_refusal("data: {size: \xff\xfe}\n", 0, "the file must be YAML");
  expect_refusal("data: {size: 64}\n]\n", 2, "the file must be YAML");
  expect_refusal("data: {size: 64}\n---\ndata: {size: 32}\n", 2, "a scene is one document");
  expect_refusal("---\n---\ndata: {size: 32}\n", 2, "a scene is one document");
}

static void nul_bytes_are_refused(void **state) {
  static const char bytes[] = "data:\n  path: a\0b\n";
  struct error error;
  (void)state;
  support_write(support_path(&folder, "a.yaml"), bytes, sizeof bytes - 1);
  assert_false(read_scene("a.yaml", &error));
  assert_holds(error.text, "the file must be YAML");
  expect_refusal("data:\n  path: \"a\\0b\"\n", 2, "a value holds a NUL byte");
  expect_refusal("data:\n  \"size\\0\": 64\n", 2, "a value holds a NUL byte");
}

static const char *repeat(char letter, size_t count) {
  char *text = arena_new(folder.arena, count + 1);
  memset(text, letter, count);
  return text;
}

static void overlong_values_are_refused(void **state) {
  (void)state;
  expect_good(arena_text(folder.arena, "data:\n  path: %s\n", repeat('x', 4095)));
  assert_int_equal(strlen(options.data.path), 4095);
  expect_refusal(arena_text(folder.arena, "data:\n  path: %s\n", repeat('x', 4096)), 2,
                 "a value of 4096 bytes; at most 4095 fit");
  expect_refusal(arena_text(folder.arena, "data:\n  %s: 1\n", repeat('x', 127)), 2, "unknown key data.xxx");
  expect_refusal(arena_text(folder.arena, "data:\n  \"%s\": 1\n", repeat('x', 128)), 2, "at most 127 fit");
  expect_refusal(arena_text(folder.arena, "\"%s\": 1\n", repeat('x', 128)), 1, "at most 127 fit");
  expect_refusal(
      arena_text(folder.arena, "evaluate:\n  samplers: [%s, %s]\n", repeat('x', 2000), repeat('y', 3000)), 2,
      "a value of 3000 bytes");
  expect_refusal(arena_text(folder.arena, "evaluate:\n  samplers: [%s, y]\n", repeat('x', 4094)), 2,
                 "the list is too long");
}

static void files_that_cannot_be_read_are_named(void **state) {
  struct error error;
  (void)state;
  assert_false(read_scene("none.yaml", &error));
  assert_holds(error.text, "scene: cannot open");
  assert_holds(error.text, "none.yaml: No such file or directory");
  assert_false(scene_read(&option_table, &options, folder.arena, folder.path, NULL, &error));
  assert_holds(error.text, folder.path);
}

/* Each file of a few extends the next one often: a file is read anew each time. */
static void readings_are_limited(void **state) {
  const char *list = "";
  struct error error;
  (void)state;
  for (int i = 0; i < 60; i++) list = arena_text(folder.arena, "%s%sb", list, i ? ", " : "");
  write_scene("b.yaml", "data: {size: 64}\n");
  expect_good(arena_text(folder.arena, "extends: [%s]\n", list));
  assert_int_equal(options.data.size.width, 64);
  write_scene("b.yaml", "extends: [c, c, c]\n");
  write_scene("c.yaml", "data: {size: 64}\n");
  write_scene("a.yaml", arena_text(folder.arena, "extends: [%s]\n", list));
  assert_false(read_scene("a.yaml", &error));
  assert_holds(error.text, "a.yaml:1 extends: ");
  assert_holds(error.text, "c.yaml would be the 65th file that is read for one scene");
  assert_holds(error.text, "name each once, or join some of them");
}

/* However long: the rest is not read. */
static void a_file_that_is_no_scene_is_not_read_to_its_end(void **state) {
  char *text = arena_new(folder.arena, (1 << 20) + 1);
  struct error error;
  (void)state;
  memset(text, '#', 1 << 20);
  text[1 << 20] = 0;
  write_scene("a.yaml", text);
  assert_false(read_scene("a.yaml", &error));
  assert_holds(error.text, "a.yaml has more than 1048575 bytes; is it a scene?");
  text[(1 << 20) - 1] = 0;
  expect_good(text);
}

static void a_pipe_is_not_waited_for(void **state) {
  struct error error;
  int ends[2];
  (void)state;
  assert_int_equal(mkfifo(support_path(&folder, "pipe.yaml"), 0600), 0);
  assert_false(read_scene("pipe.yaml", &error));
  assert_holds(error.text, "pipe.yaml: it is a pipe, not a file");
  expect_refusal("extends: pipe\n", 1, "pipe.yaml: it is a pipe, not a file");
  assert_false(scene_read(&option_table, &options, folder.arena, "/dev/zero", NULL, &error));
  assert_holds(error.text, "/dev/zero: it is not a file");
  assert_int_equal(pipe(ends), 0); /* one that the program holds is read */
  assert_int_equal(write(ends[1], "data: {size: 96}\n", 17), 17);
  close(ends[1]);
  const char *path = arena_text(folder.arena, "/dev/fd/%d", ends[0]);
  assert_good(scene_read(&option_table, &options, folder.arena, path, NULL, &error), &error);
  assert_int_equal(options.data.size.width, 96);
  close(ends[0]);
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  expect_refusal(repeat('[', 100000), 1, "");
  expect_refusal(arena_text(folder.arena, "evaluate: {samplers: %s", repeat('[', 100000)), 1,
                 "expected a single value");
  expect_refusal(repeat('{', 100000), 1, "");
}

static bool assign(const char *assignment, struct error *error) {
  return scene_assign(&option_table, &options, folder.arena, assignment, "--set", error);
}

static void assignments_come_last(void **state) {
  struct error error;
  (void)state;
  expect_good(good);
  assert_good(assign("data.size=96", &error), &error);
  assert_good(assign("data.path=a=b", &error), &error);
  assert_good(assign("evaluate.metrics=", &error), &error);
  assert_int_equal(options.data.size.width, 96);
  assert_string_equal(options.data.path, "a=b");
  assert_good(assign("evaluate.samplers=[random,low_bias]", &error), &error);
  assert_string_equal(options.evaluate.samplers, "random,low_bias");
  assert_good(assign("train.milestones=[]", &error), &error);
  assert_string_equal(options.train.milestones, "");
  assert_good(assign("data.acquisition=[a]", &error), &error); /* a text keeps its brackets */
  assert_string_equal(options.data.acquisition, "[a]");
  assert_string_equal(options.evaluate.metrics, "");
  assert_false(assign("data.size", &error));
  assert_holds(error.text, "--set 'data.size' has no '='; write section.key=value");
  assert_false(assign("data.siez=96", &error));
  assert_holds(error.text, "unknown key data.siez at --set; did you mean data.size?");
  assert_good(assign("data={}", &error), &error); /* Python's section without a key */
  assert_false(assign("nope={}", &error));
  assert_holds(error.text, "unknown section nope at --set");
  assert_false(assign("data.size=x", &error));
  assert_holds(error.text, "data.size is 'x' at --set");
  assert_false(assign("=5", &error));
  assert_holds(error.text, "unknown key ");
}

/* One to four bytes changed, put in, taken out or doubled. */
static size_t mutate(struct random *random, char *text, size_t length) {
  static const char marks[] = "&*!|>'\"%@`{}[],:#-?\n\t \\\xff\x80\0";
  for (uint32_t n = 1 + random_u32(random) % 4; n && length > 1; n--) {
    size_t at = random_u32(random) % length, span = 1 + random_u32(random) % (length - at);
    char byte = random_u32(random) % 2 ? marks[random_u32(random) % sizeof marks] : (char)random_u32(random);
    switch (random_u32(random) % 4) {
    case 0: text[at] = byte; break;
    case 1: memmove(text + at + 1, text + at, length - at), text[at] = byte, length++; break;
    case 2: memmove(text + at, text + at + span, length - at - span), length -= span; break;
    case 3: memmove(text + at + span, text + at, length - at), length += span; break;
    }
  }
  return length;
}

/* Whatever the bytes: read or refused with a text that names the file. */
static void mutated_files_never_crash(void **state) {
  char text[32 * sizeof good];
  const char *path = support_path(&folder, "a.yaml");
  struct random random;
  size_t refused = 0;
  (void)state;
  random_start(&random, 1, STREAM_PHANTOM, 0);
  for (int i = 0; i < 2000; i++) {
    struct error error = {.text = ""};
    memcpy(text, good, sizeof good);
    support_write(path, text, mutate(&random, text, sizeof good - 1));
    if (read_scene("a.yaml", &error)) continue;
    refused++;
    assert_holds(error.text, "a.yaml");
  }
  assert_true(refused > 500 && refused < 2000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_good_file_is_applied),
      TEST(empty_files_change_nothing),
      TEST(a_byte_order_mark_is_passed_over),
      TEST(line_ends_may_be_of_any_kind),
      TEST(extends_is_applied_first),
      TEST(several_are_extended_in_their_order),
      TEST(extends_is_found_beside_the_file_or_by_its_whole_path),
      TEST(extends_is_found_in_the_folder_of_all),
      TEST(extends_is_refused_with_its_place),
      TEST(keys_are_checked),
      TEST(anchors_aliases_and_tags_are_refused),
      TEST(shapes_are_checked),
      TEST(values_are_checked),
      TEST(broken_yaml_is_refused),
      TEST(nul_bytes_are_refused),
      TEST(overlong_values_are_refused),
      TEST(files_that_cannot_be_read_are_named),
      TEST(readings_are_limited),
      TEST(a_file_that_is_no_scene_is_not_read_to_its_end),
      TEST(a_pipe_is_not_waited_for),
      TEST(deep_nesting_is_refused),
      TEST(assignments_come_last),
      TEST(mutated_files_never_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
