#include "tools/report/html.h"

#include "engine/base/text.h"

#include <stdbool.h>
#include <string.h>

void html_text(FILE *file, const char *text) {
  static const char special[] = "&<>\"'\n\t";
  static const char *const instead[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "\n", "\t"};
  while (*text) {
    const char *found = strchr(special, *text);
    if (found)
      fputs(instead[found - special], file), text++;
    else
      text += text_show_character(file, text);
  }
}

void html_svg(FILE *file, const char *svg, size_t bytes) {
  static const char special[] = "%#<>\"&:?";
  fputs("\"data:image/svg+xml,", file);
  for (size_t i = 0; i < bytes; i++) {
    bool plain = svg[i] >= ' ' && svg[i] <= '~' && !strchr(special, svg[i]);
    fprintf(file, plain ? "%c" : "%%%02X", (unsigned char)svg[i]);
  }
  fputc('"', file);
}
