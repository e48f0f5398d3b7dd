/* For harnesses of formats of other programs: their inputs are files, whose bytes are changed. Other people's
 * parsers run in the child of L2SR_PROGRAM, as in the program: an input that ends the child must be refused
 * by its name. */
#ifndef L2SR_TESTS_FOREIGN_H
#define L2SR_TESTS_FOREIGN_H

#include "tests/fuzz/fuzz.h"

/* Fails without L2SR_PROGRAM, where the parser would run in this program. */
void foreign_need_child(void);
/* Opens the file as a volume of whatever is guessed, and reads slices. */
void foreign_read(const char *path);

#endif
