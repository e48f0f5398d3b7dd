/* By which options something was made, as a sum that a folder keeps: what goes on there is compared with it.
 */
#ifndef L2SR_TOOLS_MADE_H
#define L2SR_TOOLS_MADE_H

#include "components/options.h"

/* Of the options that numbers follow from, where they are not the defaults: keys that a later version adds
 * change no sum. `before`: the sum of what else it follows from, or 0. */
uint32_t made_by(const struct options *options, uint32_t before);
/* Of the data, how long is trained and from what it starts: of places and lengths (CONCERNS_PLACE) those by
 * which numbers change. */
uint32_t made_from(const struct options *options, uint32_t before);

#endif
