/* Compiled programs on disk.
 *
 * The folder is L2SR_CACHE, else XDG_CACHE_HOME/l2sr, else ~/.cache/l2sr; "off" switches it off. Where the
 * driver keeps what it compiled by itself (PoCL), only a folder that L2SR_CACHE names is used: handing
 * binaries out makes PoCL compile every kernel for all work-groups, and then again for the one that is
 * launched. Entries are written beside and renamed: concurrent processes see whole files only. A damaged
 * entry is as none. */
#ifndef L2SR_ENGINE_PROGRAM_CACHE_H
#define L2SR_ENGINE_PROGRAM_CACHE_H

#include "engine/base/arena.h"
#include "engine/device/device.h"

#define PROGRAM_CACHE_FORMAT "l2srcl1" /* every entry begins with it */

/* The folder for the device, made or not; NULL where there is none. */
char *program_cache(struct arena *arena, const struct device_facts *facts);
/* The path of the program that a key of letters and digits stands for; NULL where there is no folder. */
char *program_cache_entry(struct arena *arena, const struct device_facts *facts, const char *key);
/* False: it is not there, damaged, or not taken by the device. */
bool program_cache_load(cl_program *program, struct device *device, const char *path, const char *options);
/* Writes the entry and, where it is missing, the folder. Nothing is said where that fails: the program is
 * built again. */
void program_cache_save(cl_program program, const char *folder, const char *path);

#endif
