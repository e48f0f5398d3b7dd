"""Writes tests/data/formats: small files of other programs, each by its own library (numpy, nibabel, scipy, h5py).

Numbers tell their places: slice s, coil c, row h, column w hold 1000 s + 100 c + 10 h + w, imaginary parts are negative.
"""
import gzip
import os
import sys

import h5py
import nibabel
import numpy
import scipy.io

S, C, H, W = 3, 2, 6, 5
folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "data", "formats")
s, c, h, w = numpy.ogrid[:S, :C, :H, :W]
kspace = (1000 * s + 100 * c + 10 * h + w).astype("complex64")
kspace = kspace - 1j * kspace
images = kspace.real[:, 0]


def path(name):
    return os.path.join(folder, name)


def write_nifti():
    big = nibabel.Nifti1Header(endianness=">")
    image = nibabel.Nifti1Image(images.transpose(2, 1, 0).astype(">i2"), numpy.eye(4), header=big)
    image.header.set_data_dtype(">i2")
    image.header.set_slope_inter(2, 1)
    image.header["scl_slope"], image.header["scl_inter"] = 2, 1
    nibabel.save(image, path("image.nii"))
    with open(path("image.nii"), "rb") as file, open(path("image.nii.gz"), "wb") as out:
        out.write(gzip.compress(file.read(), mtime=0))
    os.remove(path("image.nii"))
    image = nibabel.Nifti2Image(kspace[:, 0].transpose(1, 2, 0), numpy.eye(4))
    image.header.set_dim_info(freq=0, phase=1, slice=2)
    nibabel.save(image, path("kspace2.nii"))


def put_class(dataset, name):
    """MATLAB's text of a zero at its end, which h5py does not write by itself."""
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(name) + 1)
    attribute = h5py.h5a.create(dataset.id, b"MATLAB_class", kind, h5py.h5s.create(h5py.h5s.SCALAR))
    attribute.write(numpy.array(name, f"S{len(name) + 1}"), kind)


def write_matlab():
    scipy.io.savemat(path("kspace5.mat"), {"k": kspace.transpose(2, 3, 1, 0), "te": 12.0}, do_compression=True)
    with h5py.File(path("kspace73.mat"), "w", userblock_size=512, libver="earliest") as file:
        parts = numpy.empty((S, C, W, H), [("real", "f4"), ("imag", "f4")])
        parts["real"], parts["imag"] = kspace.transpose(0, 1, 3, 2).real, kspace.transpose(0, 1, 3, 2).imag
        file["k"] = parts
        put_class(file["k"], b"single")
        file["other"] = numpy.zeros((W, H), "f8")
        put_class(file["other"], b"double")
    with open(path("kspace73.mat"), "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, by tests/make_formats.py".ljust(124) + b"\x00\x02IM")


def write_half():
    """Of version 7.3, of which one slice of two was written."""
    with h5py.File(path("half73.mat"), "w", userblock_size=512, libver="earliest") as file:
        image = file.create_dataset("image", (2, W, H), "f4", chunks=(1, W, H))
        image[0] = numpy.arange(W * H).reshape(W, H)
        put_class(image, b"single")
    with open(path("half73.mat"), "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, by tests/make_formats.py".ljust(124) + b"\x00\x02IM")


counters = ["kspace_encode_step_1", "kspace_encode_step_2", "average", "slice", "contrast", "phase", "repetition", "set", "segment"]
index = numpy.dtype([(name, "u2") for name in counters] + [("user", "u2", 8)])
head = numpy.dtype([("version", "u2"), ("flags", "u8"), ("measurement_uid", "u4"), ("scan_counter", "u4"),
                    ("acquisition_time_stamp", "u4"), ("physiology_time_stamp", "u4", 3), ("number_of_samples", "u2"),
                    ("available_channels", "u2"), ("active_channels", "u2"), ("channel_mask", "u8", 16), ("discard_pre", "u2"),
                    ("discard_post", "u2"), ("center_sample", "u2"), ("encoding_space_ref", "u2"), ("trajectory_dimensions", "u2"),
                    ("sample_time_us", "f4"), ("position", "f4", 3), ("read_dir", "f4", 3), ("phase_dir", "f4", 3),
                    ("slice_dir", "f4", 3), ("patient_table_position", "f4", 3), ("idx", index), ("user_int", "i4", 8),
                    ("user_float", "f4", 8)])
header = """<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><subjectInformation>
<patientID>somebody</patientID></subjectInformation><measurementInformation><protocolName>T2</protocolName></measurementInformation>
<encoding><encodedSpace><matrixSize><x>12</x><y>5</y><z>1</z></matrixSize><fieldOfView_mm><x>480</x><y>200</y><z>5</z></fieldOfView_mm>
</encodedSpace><reconSpace><matrixSize><x>6</x><y>5</y><z>1</z></matrixSize><fieldOfView_mm><x>240</x><y>200</y><z>5</z>
</fieldOfView_mm></reconSpace><encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>4</maximum><center>2</center>
</kspace_encoding_step_1></encodingLimits><trajectory>cartesian</trajectory></encoding></ismrmrdHeader>"""


def oversample(lines):
    """Lines [..., H] of k-space on a readout of twice the samples, whose image has zeros around it."""
    image = numpy.fft.fftshift(numpy.fft.ifft(numpy.fft.ifftshift(lines, axes=-1), norm="ortho"), axes=-1)
    image = numpy.pad(image, [(0, 0)] * (lines.ndim - 1) + [(H // 2, H // 2)])
    return numpy.fft.fftshift(numpy.fft.fft(numpy.fft.ifftshift(image, axes=-1), norm="ortho"), axes=-1)


def acquisitions():
    """Noise, a navigator, calibration lines, and all lines in two averages (one reversed), shuffled."""
    noise = numpy.arange(C * 8).reshape(C, 8) * (1 - 1j)
    yield 1 << 18, dict(), noise
    yield 1 << 22, dict(kspace_encode_step_1=1), noise
    yield 1 << 19, dict(kspace_encode_step_1=2), noise
    for i in range(S):
        for x in range(W):
            line = oversample(kspace[i, :, :, x])
            for average in range(2):
                reverse = average == 1 and x == 3
                yield (1 << 21 if reverse else 0), dict(kspace_encode_step_1=x, slice=i, average=average), \
                    (1.5 if average else 0.5) * (line[:, ::-1] if reverse else line)


def write_raw():
    rows = list(acquisitions())
    rows = [rows[i] for i in numpy.random.default_rng(1).permutation(len(rows))]
    floats = h5py.vlen_dtype(numpy.dtype("f4"))
    with h5py.File(path("raw.h5"), "w") as file:
        file.create_dataset("dataset/xml", (1,), h5py.string_dtype())[0] = header
        table = file.create_dataset("dataset/data", (len(rows),), [("head", head), ("traj", floats), ("data", floats)])
        all_rows = numpy.zeros(len(rows), table.dtype)
        for i, (flags, place, samples) in enumerate(rows):
            one = all_rows["head"][i]
            one["flags"], one["number_of_samples"], one["active_channels"] = flags, samples.shape[1], C
            one["center_sample"] = samples.shape[1] // 2
            for name, value in place.items():
                one["idx"][name] = value
            all_rows["traj"][i] = numpy.zeros(0, "f4")
            all_rows["data"][i] = samples.astype("complex64").ravel().view("f4")
        table[...] = all_rows


os.makedirs(folder, exist_ok=True)
numpy.save(path("kspace.npy"), numpy.asfortranarray(kspace).astype(">c16"))
write_nifti()
write_matlab()
write_half()
write_raw()
