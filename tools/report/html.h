/* Text without markup, and pictures, as parts of a page. */
#ifndef L2SR_TOOLS_HTML_H
#define L2SR_TOOLS_HTML_H

#include <stddef.h>
#include <stdio.h>

/* Text: markup is escaped; what no page may hold (control characters, broken UTF-8) is shown as text_show
 * shows it, but for ends of lines and tabulators. */
void html_text(FILE *file, const char *text);
/* A picture as the address of an image, in quotation marks: its names of glyphs then meet those of no other
 * one, and it loads nothing. */
void html_svg(FILE *file, const char *svg, size_t bytes);

#endif
