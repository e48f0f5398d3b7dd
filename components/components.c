#include "components/components.h"

_Static_assert((int)COMPONENT_COUNT <= (int)COLUMNS_MOST, "component_set has a bit for every column");

static const struct component_desc components[] = {
#define X(table, name, element, shape, keep, doc)                                                            \
  {#name, TABLE_##table, ELEMENT_##element, SHAPE_##shape, KEEP_##keep, doc},
    COMPONENTS(X)
#undef X
};

static const char *const table_names[] = {"SCENE", "SLICE", "ENV", "ROLLOUT", "STATE", "EPOCH", "PAIR", "BATCH", "CANDIDATE",
                                          "RECONSTRUCTOR", "POLICY", "SAMPLER", "TARGET"};
static const char *const shape_names[] = {"1", "H", "W", "A", "HxW", "CxHxW", "MxHxW", "IxHxW", "WxL", "T", "AxC"};
_Static_assert(sizeof table_names / sizeof *table_names == TABLE_COUNT, "a name for every table");
_Static_assert(sizeof shape_names / sizeof *shape_names == SHAPE_COUNT, "a name for every shape");

static const char *const table_advice[] = {[TABLE_SCENE] = "lower data.size",
                                           [TABLE_SLICE] = "set data.most or data.volumes",
                                           [TABLE_ENV] = "lower world.envs (train.method lbcs: lbcs.slices)",
                                           [TABLE_ROLLOUT] = "lower world.envs (train.method ddqn: ddqn.replay)",
                                           [TABLE_STATE] = "lower pgmri.batch or pgmri.accumulation",
                                           [TABLE_EPOCH] = "set data.most or data.volumes",
                                           [TABLE_PAIR] = "shorten train.accelerations",
                                           [TABLE_BATCH] = "lower network.batch or policy.batch",
                                           [TABLE_CANDIDATE] = "lower world.envs (train.method lbcs: lbcs.slices)",
                                           [TABLE_RECONSTRUCTOR] = "lower network.channels",
                                           [TABLE_POLICY] = "lower policy.channels",
                                           [TABLE_SAMPLER] = "lower tau.hidden",
                                           [TABLE_TARGET] = "lower policy.channels"};
_Static_assert(sizeof table_advice / sizeof *table_advice == TABLE_COUNT, "advice for every table");

const struct schema component_schema = {components, COMPONENT_COUNT, table_names, TABLE_COUNT,
                                        shape_names, SHAPE_COUNT, table_advice};
