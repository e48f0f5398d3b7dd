"""Width, height and number of different colours of a PNG: picture_colours.py FILE"""
import itertools
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at:at + 4])
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += 12 + size


def paeth(left, above, corner):
    far_left, far_above, far_corner = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
    if far_left <= far_above and far_left <= far_corner:
        return left
    return above if far_above <= far_corner else corner


def restored(kind, row, before, channels):
    """A row of bytes from its differences, by PNG's filter of that number."""
    if kind == 1:
        for channel in range(channels):
            row[channel::channels] = bytes(value & 255 for value in itertools.accumulate(row[channel::channels]))
    elif kind == 2:
        row = bytearray(before) if not any(row) else bytearray((a + b) & 255 for a, b in zip(row, before))
    for i in range(len(row)) if kind > 2 else ():
        left, corner = (row[i - channels], before[i - channels]) if i >= channels else (0, 0)
        row[i] = (row[i] + ((left + before[i]) // 2 if kind == 3 else paeth(left, before[i], corner))) & 255
    return row


def rows(width, height, channels, data):
    size = width * channels
    before = bytearray(size)
    for y in range(height):
        row = bytearray(data[y * (size + 1) + 1:(y + 1) * (size + 1)])
        row = restored(data[y * (size + 1)], row, before, channels)
        if y == 0 or row != before:
            yield row
        before = row


with open(sys.argv[1], "rb") as file:
    parts = list(chunks(file.read()))
width, height, _, kind = struct.unpack(">IIBB", parts[0][1][:10])
channels = {2: 3, 6: 4}[kind]
pixels = zlib.decompress(b"".join(part for name, part in parts if name == b"IDAT"))
colours = set()
for row in rows(width, height, channels, pixels):
    colours.update(bytes(row[x:x + channels]) for x in range(0, len(row), channels))
print(width, height, len(colours))
