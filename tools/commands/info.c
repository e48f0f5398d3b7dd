/* Lists what is here: OpenCL devices, library versions, the kernel cache. */
#include "engine/base/log.h"
#include "engine/device/program_cache.h"
#include "tools/commands/command.h"

#include <cairo.h>
#include <clFFT.h>
#include <clblast_c.h>
#include <ctype.h>
#include <hdf5.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct view {
  bool json;
  size_t taken; /* place in the list, or SIZE_MAX */
  bool good;    /* the device could be opened */
  struct device_facts facts;
};

static const char *kind_name(cl_device_type kind) {
  if (kind & CL_DEVICE_TYPE_GPU) return "gpu";
  if (kind & CL_DEVICE_TYPE_CPU) return "cpu";
  return kind & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "other";
}

static void print_member(const char *name, const char *text) {
  printf(",\"%s\":", name);
  json_text(stdout, text);
}

static void print_device_json(size_t index, const struct device_facts *facts, bool taken) {
  printf("{\"type\":\"device\",\"index\":%zu,\"taken\":%s", index, taken ? "true" : "false");
  print_member("name", facts->name);
  print_member("platform", facts->platform);
  print_member("vendor", facts->vendor);
  print_member("kind", kind_name(facts->kind));
  print_member("version", facts->version);
  print_member("driver", facts->driver);
  printf(",\"memory\":%llu,\"largest\":%llu,\"local\":%llu,\"units\":%u,\"group\":%zu,\"alignment\":%u}\n",
         (unsigned long long)facts->memory, (unsigned long long)facts->largest,
         (unsigned long long)facts->local, facts->units, facts->group, facts->alignment);
}

static void print_device_text(size_t index, const struct device_facts *facts, bool taken) {
  printf("device %zu: %s%s\n", index, facts->name, taken ? " (taken)" : "");
  printf("  platform            %s, %s\n", facts->platform, facts->version);
  printf("  kind                %s\n", kind_name(facts->kind));
  printf("  driver              %s\n", facts->driver);
  printf("  memory              %.1f MiB\n", (double)facts->memory / 0x1p20);
  printf("  largest allocation  %.1f MiB\n", (double)facts->largest / 0x1p20);
  printf("  local memory        %.1f KiB\n", (double)facts->local / 0x1p10);
  printf("  compute units       %u\n", facts->units);
  printf("  largest work-group  %zu\n", facts->group);
  printf("  base alignment      %u bytes\n", facts->alignment);
}

static void see_device(size_t index, const struct device_facts *facts, void *context) {
  struct view *view = context;
  (view->json ? print_device_json : print_device_text)(index, facts, index == view->taken);
}

/* Shows the platforms without a device: the others stand with their devices. */
static void see_platform(const char *name, cl_int code, const char *cause, void *context) {
  const struct view *view = context;
  if (code == CL_SUCCESS) return;
  if (view->json) {
    printf("{\"type\":\"platform\"");
    print_member("name", name);
    print_member("devices", device_code_name(code));
    printf("}\n");
  } else {
    printf("platform %s: no device (%s); %s\n", name, device_code_name(code), cause);
  }
}

static void print_library(const struct view *view, const char *name, const char *version) {
  if (view->json) {
    printf("{\"type\":\"library\"");
    print_member("name", name);
    print_member("version", version);
    printf("}\n");
  } else {
    printf("%-8s %s\n", name, version);
  }
}

static void print_libraries(const struct view *view, struct arena *arena) {
  unsigned major = 0, minor = 0, release = 0;
  print_library(view, "l2sr", L2SR_VERSION);
  H5get_libversion(&major, &minor, &release);
  print_library(view, "HDF5", arena_text(arena, "%u.%u.%u", major, minor, release));
  clfftGetVersion(&major, &minor, &release);
  print_library(view, "clFFT", arena_text(arena, "%u.%u.%u", major, minor, release));
  /* CLBlast tells its version in the header only */
  print_library(
      view, "CLBlast",
      arena_text(arena, "%d.%d.%d", CLBLAST_VERSION_MAJOR, CLBLAST_VERSION_MINOR, CLBLAST_VERSION_PATCH));
  print_library(view, "libyaml", yaml_get_version_string());
  print_library(view, "jansson", jansson_version_str());
  print_library(view, "cairo", cairo_version_string());
}

static void print_cache(const struct view *view, struct arena *arena) {
  const char *folder = view->good ? program_cache(arena, &view->facts) : NULL;
  if (view->json) {
    printf("{\"type\":\"cache\",\"folder\":");
    json_text(stdout, folder ? folder : "");
    printf(",\"on\":%s}\n", folder ? "true" : "false");
  } else {
    printf("\nkernel cache: %s\n  L2SR_CACHE names another folder; L2SR_CACHE=off switches the cache off\n",
           folder                       ? folder
           : view->facts.keeps_programs ? "the driver's own"
                                        : "off");
  }
}

static void match_device(size_t index, const struct device_facts *facts, void *context) {
  struct view *view = context;
  if (view->taken == SIZE_MAX && !memcmp(facts, &view->facts, sizeof *facts)) view->taken = index;
}

/* The place of the device that would be opened: the one asked for by number, else the first of its facts. */
static bool find_taken(const struct call *call, struct view *view, struct error *error) {
  const char *select = call_flag(call, "device");
  struct device device;
  if (!select || !*select) select = getenv("L2SR_DEVICE");
  if (!device_open(&device, select ? select : "", error)) return false;
  view->facts = device.facts;
  view->good = true;
  if (select && isdigit((unsigned char)*select) && !select[strspn(select, "0123456789")])
    view->taken = strtoul(select, NULL, 10);
  else
    device_list(match_device, view);
  device_close(&device);
  return true;
}

static bool run_info(struct call *call, struct error *error) {
  struct view view = {.json = call_flag(call, "json"), .taken = SIZE_MAX};
  bool good = find_taken(call, &view, error);
  print_libraries(&view, call->arena);
  print_cache(&view, call->arena);
  if (!view.json) putchar('\n');
  if (!device_list(see_device, &view) && !view.json) printf("no OpenCL device\n");
  device_platforms(see_platform, &view);
  return good;
}

static const struct flag flags[] = {
    {"json", NULL, NULL, "prints one JSON object a line"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_info = {
    .name = "info",
    .operands = "",
    .doc = "lists OpenCL devices, library versions and the kernel cache",
    .more = "The device that a command with the same --device would use is marked as taken. The exit "
            "status is 1 where there is no OpenCL device.",
    .flags = flags,
    .run = run_info,
};
