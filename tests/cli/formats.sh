#!/bin/sh
# Files of other programs in and out: import, data.path, inspect, evaluate, export and back. formats.sh L2SR SOURCE
set -u
formats=$(realpath "$2")/tests/data/formats
. "${0%/*}/setup.sh"

# has LIBRARY: this program was built with it
has() { ! "$l2sr" inspect "$1" 2>&1 | grep -q 'was built without'; }
same() { # same WHAT FILE FILE: byte for byte
  tried=$((tried + 1))
  cmp -s "$2" "$3" || complain "$1: $2 and $3 differ"
}

# in: axes are guessed and printed, and said
run "raw data" "$l2sr" import "$formats/raw.h5" --output data
says out '33 acquisitions of raw data: 30 lines, 1 of noise (dataset noise: coils.whiten noise), 1 of calibration left out'
says out 'readout oversampling removed (12 to 6)'
says out 'data/raw.h5: kspace of 3 slices, 2 coils, 6x5'
says err 'go up to 1.181e+04, and PSNR clamps reconstructions to 10'
refuse 1 'and volumes hold magnitudes of up to 1e+15; import with --factor 8.47e-05 ' import "$formats/raw.h5" --factor 1e12 --output huge
run "raw data of another scale" "$l2sr" import "$formats/raw.h5" --factor 8.47e-05 --output scaled
tried=$((tried + 1))
[ ! -s err ] || complain "an image of a peak of 1 is warned of"
run "what became of it" "$l2sr" inspect data/raw.h5 --json
says out '"name":"noise","element":"complex float32","shape":"2x8"'
says out '"patient_id":"somebody"'
run "numpy" "$l2sr" import "$formats/kspace.npy" --axes s,c,h,w --kind kspace --patient me --output data
says out '[3, 2, 6, 5] complex128 as s,c,h,w, kspace'
run "whose it is" "$l2sr" inspect data/kspace.h5 --json
says out '"patient_id":"me"'
if has "$formats/image.nii.gz"; then
  run "NIfTI" "$l2sr" import "$formats/image.nii.gz" --output data
  says out 'images of 3 slices, 6x5'
  run "a file itself" "$l2sr" inspect "$formats/image.nii.gz"
  says out 'file holds           [5, 6, 3] float32 as w,h,s, image'
  gzip -dc "$formats/image.nii.gz" >inside.nii
  printf '\0\0\0\0' | dd of=inside.nii bs=1 seek=108 conv=notrunc status=none
  refuse 1 'inside.nii says that its numbers begin within its header (vox_offset is below 352)' import inside.nii --output data
else
  echo "did not run: NIfTI files (the program was built without libnifti2)"
  refuse 1 'install the package libnifti2-dev' import "$formats/image.nii.gz" --output data
fi
if has "$formats/kspace5.mat"; then
  run "MATLAB" "$l2sr" import "$formats/kspace5.mat" --kind kspace --output data
  says out '[6, 5, 2, 3] complex64 as h,w,c,s, kspace (a guess)'
  refuse 1 'holds several arrays: k [6, 5, 2, 3], other [6, 5]; name one:' import "$formats/kspace73.mat" --output data
  head -c "$(($(wc -c <"$formats/kspace5.mat") - 40))" "$formats/kspace5.mat" >cut.mat
  refuse 1 'cut.mat was cut or damaged: the lengths in it are not those of its numbers' import cut.mat --kind kspace --output data
  refuse 1 'half73.mat claims' import "$formats/half73.mat" --output data
  refuse 1 'has no variable x; it holds k [6, 5, 2, 3], other [6, 5]' import "$formats/kspace73.mat" --variable x --output data
else
  echo "did not run: MATLAB files (the program was built without libmatio)"
  refuse 1 'install the package libmatio-dev' import "$formats/kspace5.mat" --output data
fi
refuse 2 'would both become kspace.h5' import "$formats/kspace.npy" ./kspace.npy --output data
refuse 2 'give --output FOLDER' import "$formats/kspace.npy"
refuse 2 'import.axes s,h for an array [3, 2, 6, 5]' import "$formats/kspace.npy" --axes s,h --output data
refuse 1 'is a volume of fastMRI' import data/raw.h5 --output data
echo nothing >nothing.xyz
refuse 1 'is of no format that is read: give .cfl, .npy,' import nothing.xyz --output data
refuse 1 'data is a folder; name the files in it' import data --output data
printf 'PK\003\004' >arrays.npz
refuse 1 'arrays.npz is an archive of numpy arrays; write one of its arrays alone: numpy.save("NAME.npy"' import arrays.npz --output data

# what is left out is said, what cannot be held is refused, and nothing is left of a failed import
python3 - <<'P'
import gzip, struct
def npy(name, descr, shape, data):
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (53 - len(head) % 64 + 64) + b"\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data)
npy("five.npy", "'<f4'", (2, 2, 2, 4, 5), bytes(640))
npy("behind.npy", "'<f4'", (2, 4, 4), bytes(128) + b"12345")
npy("large.npy", "'<f8'", (2, 4, 4), struct.pack("<d", 1e300) * 32)
npy("objects.npy", "'|O'", (4, 4), b"secret")
header = bytearray(352)
struct.pack_into("<i", header, 0, 348)
struct.pack_into("<8h", header, 40, 3, 1024, 1024, 40, 1, 1, 1, 1)
struct.pack_into("<2h", header, 70, 16, 32)
struct.pack_into("<f", header, 108, 352)
header[344:348] = b"n+1\0"
with gzip.open("bomb.nii.gz", "wb") as file:
    file.write(header)
    for _ in range(160):
        file.write(bytes(1 << 20))
P
run "five axes" "$l2sr" import five.npy --output made/of/five
says out '[2, 2, 2, 4, 5] float32 as 0,s,c,h,w, image (a guess); of 2 entries of the axes 0 only the first'
run "bytes behind" "$l2sr" import behind.npy --output made/of/five
says out 'as s,h,w, image; 5 bytes behind the array are not read'
refuse 1 'holds numbers beyond 3.4e38, the largest of float32' import large.npy --output none/of/it
refuse 1 'holds entries of type objects of Python, which only Python reads;' import objects.npy --output none/of/it
has "$formats/image.nii.gz" && refuse 1 'and unpacks to 167772160, more than 200 times as many' import bomb.nii.gz --output none/of/it
refuse 1 'cannot open nowhere' render heuristics_128 --data nowhere --output none/of/it
tried=$((tried + 1))
[ ! -e none ] || complain "an empty folder is left where nothing was written"

# what has several readings is refused with the line that decides it, which works
refuse 1 "\`l2sr import $formats/kspace.npy --axes s,c,h,w --kind image --output FOLDER\`" evaluate heuristics_128 --data "$formats/kspace.npy"
run "a guess is said" "$l2sr" inspect "$formats/kspace.npy"
says out 'image (a guess)'
says out 'note: '
refuse 1 'no usable slice in' evaluate heuristics_128 --data "$formats/kspace.npy"
says err '1 of 1 file of several readings; the last: '

# scans of a file as it is, which are those of the volume that is made of it
"$l2sr" phantom phantom --train 0 --val 0 --test 1 --slices 2 --size 32 --rows 64 --columns 40 >out 2>err
run "a volume as an array" "$l2sr" export phantom/test/*.h5 --what image --output scan.npy
run "the array as a volume" "$l2sr" import scan.npy --output made
# a scan of 32x32 by $1
scan() { run "$2" "$l2sr" evaluate heuristics_128 --data "$1" --samplers random --set data.size=32 --set evaluate.images=true \
  --set acquisition.acceleration=4 --set acquisition.horizon=long --set data.source=auto --quiet --output "$2"; }
scan scan.npy direct
scan made imported
"$l2sr" compare direct/results.h5 imported/results.h5 >out 2>err
tried=$((tried + 1))
[ "$(grep '^ *differs' out | grep -vc 'attribute selection')" -eq 0 ] && grep -q '^ *same *x4_long/random/reconstruction' out ||
  complain "the same scans: more differs than the name of the file"

# out: what was scanned, in every form
for end in txt npy png cfl py; do run "mask as $end" "$l2sr" export direct --row 1 --output "mask.$end"; done
says out 'mask.py: mask of direct/results.h5, x4_long/random, row 1 (slice 1 of scan.npy), 8 of 32 lines'
says mask.txt '# mask of direct/results.h5, x4_long/random, row 1 (slice 1 of scan.npy)'
run "the text is a mask" "$l2sr" evaluate heuristics_128 --data scan.npy --samplers fixed_mask --set sampler.mask=mask.txt --set data.size=32 \
  --set acquisition.acceleration=4 --set acquisition.horizon=long --quiet --output fixed
echo 0 0 1 1 1 1 0 0 >low.txt
run "low frequencies as fastMRI counts them" "$l2sr" export low.txt --output low.py
says low.py 'LOW_FREQUENCIES = 4 '
run "a sequence" "$l2sr" export direct --row 1 --output mask.seq --tr 15 --te 7
tried=$((tried + 1))
[ "$(sed -n '/^\[ADC\]/,/^$/p' mask.seq | wc -l)" -eq 10 ] || complain "a readout a line"
run "a sequence of a text" "$l2sr" export mask.txt --height 16 --output text.seq
refuse 2 'a repetition time of 5 ms is too short' export direct --output late.seq --tr 5 --te 7
refuse 2 'an echo time of 1 ms is too short' export direct --output late.seq --te 1
refuse 2 'a slice of 0.1 mm needs a gradient of' export direct --output thin.seq --thickness 0.1
refuse 2 "a dwell time of 0.01 us is none on the raster of 0.1 us" export direct --output fast.seq --dwell 0.01
refuse 2 'has no ending that says its kind' export direct --output mask.doc
seq -s ' ' 4097 | sed 's/[0-9][0-9]*/1/g' >long.txt
refuse 1 'holds 4097 values; 2 to 4096 columns are expected' export long.txt --output long.npy
refuse 2 'has no result x9; it has x4_long/random/mask' export direct --result x9 --output mask.txt
refuse 2 '--row is 5; x4_long/random/mask of' export direct --row 5 --output mask.txt
for what in reconstruction image; do
  run "$what" "$l2sr" export direct --what $what --output $what.npy
  refuse 2 "the $what of all rows that direct/results.h5 keeps is written: leave --row out" export direct --what $what --row 1 --output one.npy
done
run "zero-filled" "$l2sr" export direct --what zero_filled --row 1 --output zero_filled.cfl
run "k-space" "$l2sr" export direct --what kspace --row 1 --output kspace.cfl
if command -v bart >/dev/null; then
  run "BART's inverse transform" bart fft -u -i 3 kspace coils
  run "its magnitude" bart rss 8 coils image
  run "is the zero-filled image" bart nrmse -t 1e-5 zero_filled image
fi

# there and back: the same bytes
run "k-space of a volume" "$l2sr" export phantom/test/*.h5 --what kspace --output there.npy
run "as BART has it" "$l2sr" import there.npy --axes s,h,w --kind kspace --output there
run "out again" "$l2sr" export there/there.h5 --output there.cfl
run "in again" "$l2sr" import there.cfl --kind kspace --output back
run "and out" "$l2sr" export back/there.h5 --output back.npy
same "k-space by BART" there.npy back.npy
for end in nii nii.gz mat; do
  has "$formats/image.nii.gz" && has "$formats/kspace5.mat" || continue
  run "images as $end" "$l2sr" export scan.npy --output "there.$end"
  run "from $end" "$l2sr" import "there.$end" --axes "$([ $end = mat ] && echo h,w,s || echo w,h,s)" --output "$end"
  run "from the volume" "$l2sr" export "$end/there.h5" --output "$end.npy"
  same "images by $end" scan.npy "$end.npy"
done
if [ -e there.mat ]; then # as libmatio leaves a file on a full disk: the matrix's own length is of what is there
  left=$(($(wc -c <there.mat) - 1024))
  head -c "$left" there.mat >lengths.mat
  printf "$(printf '\\%o' $(((left - 136) & 255)) $((((left - 136) >> 8) & 255)) $((((left - 136) >> 16) & 255)))" |
    dd of=lengths.mat bs=1 seek=132 conv=notrunc status=none
  refuse 1 'lengths.mat was cut or damaged' import lengths.mat --output data
  cp there.mat shape.mat # whose first axis is longer than its numbers
  printf '\377' | dd of=shape.mat bs=1 seek=160 conv=notrunc status=none
  refuse 1 'shape.mat was cut or damaged' import shape.mat --output data
fi
finish
