"""Figures of a report as a reader gets them: figures.py FOLDER

Pictures of report.html must be whole and ask for nothing. Words of PDF files, which pdftotext finds, must stand in
the page and beside each other. What is wrong is printed as `FAILED: ...`; the words of every PDF go into a file
beside it, NAME.words."""
import html.parser
import pathlib
import re
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as tree

failed = False


def complain(text):
    global failed
    failed = True
    print("FAILED: " + text)


class Page(html.parser.HTMLParser):
    pictures = 0

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "src" not in values:
            return
        kind, _, data = values["src"].partition(",")
        if tag != "img" or kind != "data:image/svg+xml":
            return complain(f"the page asks for {values['src'][:40]}")
        if not values.get("alt"):
            complain("a picture has no text for a screen reader")
        self.pictures += 1
        for part in tree.fromstring(urllib.parse.unquote_to_bytes(data)).iter():
            for name, value in part.attrib.items():
                if name.endswith("href") and not value.startswith(("#", "data:image/png;base64,")):
                    complain(f"a picture asks for {value[:40]}")


def see_words(path):
    out = subprocess.run(["pdftotext", "-bbox", path, "-"], check=True, capture_output=True, text=True).stdout
    width, height = map(float, re.search(r'<page width="([\d.]+)" height="([\d.]+)"', out).groups())
    found = re.findall(r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*)</word>', out)
    words = [(*map(float, row[:4]), html.unescape(row[4])) for row in found]
    if not words:
        complain(f"{path}: no words; letters are no text")
    for i, (left, top, right, bottom, word) in enumerate(words):
        if left < 0 or top < 0 or right > width or bottom > height:
            complain(f"{path}: '{word}' leaves the page")
        room = (bottom - top) / 4  # lines of text reach into each other where there is no ink
        for other in words[:i]:
            if min(right, other[2]) - max(left, other[0]) > 0.5 and min(bottom, other[3]) - max(top, other[1]) > room:
                complain(f"{path}: '{word}' and '{other[4]}' stand on each other")
    pathlib.Path(path).with_suffix(".words").write_text(" ".join(word[4] for word in words) + "\n")


folder = pathlib.Path(sys.argv[1])
page = Page()
page.feed((folder / "report.html").read_text())
print(page.pictures)
for path in sorted(folder.glob("*.pdf")):
    see_words(path)
sys.exit(failed)
