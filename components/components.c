#include "components/components.h"

_Static_assert((int)COMPONENT_COUNT <= (int)COLUMNS_MOST, "component_set holds 64 columns");

static const struct component_desc components[] = {
#define X(table, name, element, shape, keep, doc)                                                            \
  {#name, TABLE_##table, ELEMENT_##element, SHAPE_##shape, KEEP_##keep, doc},
    COMPONENTS(X)
#undef X
};

static const char *const table_names[] = {"SLICE", "ENV", "ROLLOUT"};
static const char *const shape_names[] = {"1", "W", "HxW"};
_Static_assert(sizeof table_names / sizeof *table_names == TABLE_COUNT, "a name for every table");
_Static_assert(sizeof shape_names / sizeof *shape_names == SHAPE_COUNT, "a name for every shape");

const struct schema component_schema = {components, COMPONENT_COUNT, table_names, TABLE_COUNT,
                                        shape_names, SHAPE_COUNT};
