/* Trust in a device and its driver: stored results and every kernel's reference, worst error by quantity. */
#include "engine/base/log.h"
#include "systems/checks/verify.h"
#include "tools/commands/command.h"

struct tally {
  bool json;
  int passed, failed;
};

static void see(const char *source, const char *quantity, double worst, double bound, void *context) {
  struct tally *tally = context;
  bool good = worst <= bound;
  *(good ? &tally->passed : &tally->failed) += 1;
  if (tally->json) {
    printf("{\"source\":\"%s\",\"quantity\":\"%s\",\"worst\":", source, quantity);
    json_number(stdout, worst);
    printf(",\"bound\":%.3g,\"good\":%s}\n", bound, good ? "true" : "false");
  } else {
    printf("%s  %-22s %-24s worst %.2e  bound %.0e\n", good ? "good" : "BAD ", source, quantity, worst,
           bound);
  }
}

static bool verify_all(const struct call *call, const struct verify *verify, struct error *error) {
  if (!call->operand_count) return verify_golden(verify, error) && verify_kernels(verify, error);
  for (int i = 0; i < call->operand_count; i++)
    if (!verify_file(verify, call->operand[i], error)) return false;
  return true;
}

static bool verify_device(struct call *call, struct device *device, struct error *error) {
  struct tally tally = {.json = call_flag(call, "json")};
  struct verify verify = {device, call_flag(call, "kernels"), see, &tally};
  bool good = verify_all(call, &verify, error);
  if (good && !tally.json)
    printf("%s: %d quantit%s within their bounds, %d not\n", device->facts.name, tally.passed,
           tally.passed == 1 ? "y" : "ies", tally.failed);
  call->status = tally.failed ? 1 : 0;
  return good;
}

static bool run_verify(struct call *call, struct error *error) {
  return call_on_device(call, verify_device, error);
}

static const struct flag flags[] = {
    {"json", NULL, NULL, "prints one JSON object for every quantity"},
    {NULL, NULL, NULL, NULL},
};

const struct command command_verify = {
    .name = "verify",
    .operands = "[FILE...]",
    .doc = "checks the device against reference vectors and every kernel against its reference",
    .more = "FILE holds vectors of acquisition, metrics, networks, policies or advantages (HDF5). Without "
            "a file it checks the built-in golden numbers, and every kernel against its scalar reference. "
            "Errors are relative to the largest value. The exit status is 1 if an error is above its "
            "bound.",
    .operands_most = OPERANDS_MOST,
    .flags = flags,
    .run = run_verify,
};
