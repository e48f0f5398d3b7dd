"""Width, height and number of different colours of a PNG: picture_colours.py FILE"""
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
    guess = left + above - corner
    return min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))[2]


def rows(width, height, channels, data):
    size = width * channels
    before = bytearray(size)
    for y in range(height):
        kind, row = data[y * (size + 1)], bytearray(data[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for i in range(size) if kind else ():
            left, corner = (row[i - channels], before[i - channels]) if i >= channels else (0, 0)
            guess = (0, left, before[i], (left + before[i]) // 2, paeth(left, before[i], corner) if kind == 4 else 0)
            row[i] = (row[i] + guess[kind]) & 255
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
