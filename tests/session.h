/* The program's main, under another name (tests/meson.build). */
#ifndef L2SR_TESTS_SESSION_H
#define L2SR_TESTS_SESSION_H

int program_main(int argc, char **argv);

#endif
