/* The flags that all commands take. */
#include "tools/commands/command.h"

#include <string.h>

const struct flag common_flags[] = {
    {"device", "D", NULL,
     "OpenCL device: its number in the list of `l2sr info`, or gpu, cpu, accelerator, or a part of its name; "
     "default: L2SR_DEVICE, else the first GPU, else any"},
    {"set", "KEY=VALUE", NULL,
     "sets an option of the scene, section.key=value or section.list=[a,b]; it comes after scene and flags, "
     "and "
     "may be repeated"},
    {"plugin", "FILE", NULL,
     "functions of your own, for scenes whose reconstruct.method or reward.metric is callback: FILE.py with reconstruct(batch) "
     "or metric(batch), run by python3 (or L2SR_PYTHON), or FILE.so (l2sr.h)"},
    {"kernels", "DIR", NULL, "reads the OpenCL files from this folder instead of the built-in ones"},
    {"quiet", NULL, NULL,
     "prints only errors, and what --json or --yaml asks for; no table, warning or progress"},
    {"verbose", NULL, NULL, "prints details"},
    {"help", NULL, NULL, "prints this help"},
    {NULL, NULL, NULL, NULL},
};

bool flag_names_path(const struct flag *flag) {
  return flag->value && (!strcmp(flag->value, "DIR") || !strcmp(flag->value, "FILE"));
}
